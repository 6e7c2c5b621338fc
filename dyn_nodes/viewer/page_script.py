"""The script that every page gets beside viser's own: it carries the token to the websocket, and it beats.

viser's page opens its websocket in a worker, from the page's address without its query. The script puts the token
there, for this server only. A beat is sent from the page itself, not from the worker: a page that is frozen, hidden or
left sends none.
"""

BEAT = 'DynNodesBeat'
BEAT_PERIOD = 0.2
"""s."""
LOOKING = 'This page only looks on. To drive, open the address with its token, as the terminal printed it.'

SCRIPT = (
    """<script>
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
)


def with_script(page: bytes) -> bytes:
    """Return a page with the script before everything else that runs. Raises ValueError where it has no head."""
    head = b'<head>'
    before, found, after = page.partition(head)
    if not found:
        raise ValueError('the page of viser: expected <head>')
    return before + found + SCRIPT.encode() + after
