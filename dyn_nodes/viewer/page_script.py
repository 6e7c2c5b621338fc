"""The script that every page gets beside viser's own: it carries the token to the websocket, it beats and it watches.

viser's page opens its websocket in a worker, from the page's address without its query. The script puts the token
there, for this server only. A beat is sent from the page itself, not from the worker: a page that is frozen, hidden or
left sends none. The server beats as well, by a number in the line that shows the state of the connection. Where that
number stands still the page hides the line, as time and real-time factor in it are old, and shows for how long.

On a narrow page the instruments at the left begin folded to a strip, so that the machine has room: the line with the
state shows the worst of them. Once unfolded they stay so.
"""

BEAT = 'DynNodesBeat'
BEAT_PERIOD = 0.2
"""s."""
NARROW = 1000
"""Width of a page below which the instruments begin folded, pixels."""
STALE = 3.0
"""Time without a beat of the server after which a page counts as old, s."""
LOOKING = 'This page only looks on. To drive, open the address with its token, as the terminal printed it.'

SILENT = 'The viewer has sent nothing for %S s: picture, margins and time are old.'

SCRIPT = (
    """<style>[data-old] [data-connection] { visibility: hidden }</style>
<script>
(() => {
  const token = new URLSearchParams(location.search).get('token');
  const post = Worker.prototype.postMessage;
  let link = null;
  Worker.prototype.postMessage = function (message, ...rest) {
    if (message && message.type === 'set_server') {
      const server = new URL(message.server);
      if (server.host === location.host) {
        link = this;
        if (token !== null) {
          message = { ...message, server: server.origin + '/?token=' + encodeURIComponent(token) };
        }
      }
    }
    return post.call(this, message, ...rest);
  };
  const beat = (visible) => {
    if (link !== null) post.call(link, { type: 'send', message: { type: '%BEAT%', visible } });
  };
  let beaten = null, since = 0, looked = 0, old = null;
  const age = () => {
    const state = document.querySelector('[data-beat]'), now = performance.now();
    const rested = now - looked > %STALE%;  // the page itself stood still: first it takes what has come
    if (rested || (state !== null && state.dataset.beat !== beaten)) since = now;
    if (state !== null) beaten = state.dataset.beat;
    looked = now;
    return beaten === null ? 0 : now - since;
  };
  setInterval(() => {
    const silent = age();
    if (silent <= %STALE%) {
      if (old !== null) { old.remove(); old = null; delete document.documentElement.dataset.old; }
      return;
    }
    if (old === null) {
      old = document.createElement('div');
      old.dataset.silent = 'true';
      old.style = 'position:fixed;top:12px;left:50%;transform:translateX(-50%);z-index:9999;padding:6px 14px;'
        + 'border-radius:5px;background:#c0392b;color:#fff;font:14px sans-serif;pointer-events:none';
      document.body.append(old);
      document.documentElement.dataset.old = 'true';
    }
    old.textContent = '%SILENT%'.replace('%S', Math.floor(silent / 1000));
  }, %PERIOD%);
  let folded = false;
  setInterval(() => {
    const wide = innerWidth >= %NARROW%;
    const fold = document.querySelector('[data-dock-region-collapse="left"][aria-expanded="true"]');
    if (!wide && !folded && fold !== null) fold.click();
    folded = !wide && (folded || fold !== null);
  }, %PERIOD%);
  if (token !== null) {
    setInterval(() => beat(document.visibilityState === 'visible'), %PERIOD%);
    document.addEventListener('visibilitychange', () => beat(document.visibilityState === 'visible'));
    addEventListener('pagehide', () => beat(false));
    return;
  }
  addEventListener('DOMContentLoaded', () => {
    const note = document.createElement('div');
    note.dataset.looking = 'true';
    note.textContent = '%LOOKING%';
    note.style = 'position:fixed;bottom:12px;left:50%;transform:translateX(-50%);z-index:9999;padding:6px 14px;'
      + 'border-radius:5px;background:#333;color:#fff;font:14px sans-serif;pointer-events:none';
    document.body.append(note);
  });
})();
</script>
""".replace('%BEAT%', BEAT)
    .replace('%PERIOD%', str(round(1000 * BEAT_PERIOD)))
    .replace('%LOOKING%', LOOKING)
    .replace('%NARROW%', str(NARROW))
    .replace('%STALE%', str(round(1000 * STALE)))
    .replace('%SILENT%', SILENT)
)


def with_script(page: bytes) -> bytes:
    """Return a page with the script before everything else that runs. Raises ValueError where it has no head."""
    head = b'<head>'
    before, found, after = page.partition(head)
    if not found:
        raise ValueError('the page of viser: expected <head>')
    return before + found + SCRIPT.encode() + after
