// Search in pages that are opened from the disk. Browsers start no worker from a file: its script runs in a hidden
// frame instead, which has the messages of a worker. Material for MkDocs loads this before its own scripts.
if (location.protocol === 'file:') {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      this.onmessage = null;
      this.inner = null; // window of the frame once its script is there
      this.waiting = []; // messages until then
      this.addEventListener('message', (event) => this.onmessage?.(event));
      this.frame = document.createElement('iframe');
      this.frame.hidden = true;
      this.frame.srcdoc = '<!doctype html><title>search</title>'; // of the same origin as this page
      this.frame.addEventListener('load', () => this.begin(url), { once: true });
      document.body.append(this.frame);
    }

    begin(url) {
      const inner = this.frame.contentWindow;
      const load = (address) =>
        new Promise((done, failed) => {
          const script = inner.document.createElement('script');
          script.src = address;
          script.onload = done;
          script.onerror = failed;
          inner.document.body.append(script);
        });
      inner.postMessage = (data) => this.dispatchEvent(new MessageEvent('message', { data }));
      inner.importScripts = (...addresses) => Promise.all(addresses.map(load));
      load(url).then(() => {
        this.inner = inner;
        this.waiting.splice(0).forEach((data) => this.postMessage(data));
      });
    }

    postMessage(data) {
      if (this.inner) this.inner.dispatchEvent(new MessageEvent('message', { data }));
      else this.waiting.push(data);
    }

    terminate() {
      this.frame.remove();
    }
  };
}
