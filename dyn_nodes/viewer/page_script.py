"""The script that every page gets beside viser's own: it carries the token to the websocket, it beats and it watches.

viser's page opens its websocket in a worker, from the page's address without its query. The script puts the token
there, for this server only. A beat is sent from the page itself, not from the worker: a page that is frozen, hidden or
left sends none. The server beats as well, by a number in the line that shows the state of the connection. Where that
number stands still the page hides the line, as time and real-time factor in it are old, and shows for how long: what
has come is shown where the page draws, so that a browser that is too slow to draw is named, not the viewer.

viser's page sends what is done on it every 50 ms at most, by one timer for all elements of a panel, and of what was
done in between only the last: a page that stands still for a moment would lose all but the last of what is done
meanwhile. The script lets that timer run out at once. A browser makes no click of the tap of a second finger: the
script does, so that levers can be put to neutral while a finger is on one.

viser turns the eye with the arrow keys wherever the focus is: the script keeps those of a lever from it. viser also
makes a plot before it knows its width, with its words in a narrow column; the style gives them the width of the panel.

A browser whose graphics process ends, as it may on a busy computer, gives the page an empty context, in which viser
draws a part of the machine. The script then reloads the page. If the browser gives no context, it shows a note.

On a narrow page the instruments at the left begin folded to a strip, so that the machine has room: the line with the
state shows the worst of them. Once unfolded they stay so.
"""

BEAT = 'DynNodesBeat'
BEAT_PERIOD = 0.2
"""s."""
NARROW = 1000
"""Width of a page below which the instruments begin folded, pixels."""
SHARED = 50
"""Period in which viser's page sends one of the things that were done on it, ms."""
TAP = 500
"""A click of the browser within this time after that of a second finger is the same one, ms."""
STALE = 3.0
"""Time without a beat of the server after which a page counts as old, s."""
LOOKING = 'This page only looks on. To drive, open the address with its token, as the terminal printed it.'

SILENT = 'The viewer has sent nothing for %S s: picture, margins and time are old.'
LOST = 'This browser draws no picture any more. Margins and levers still work. Restart the browser.'
RESTORED_WITHIN = 10.0
"""Time without a new graphics context after which the note is shown, s."""
STUCK = 'This browser has drawn nothing for %S s: picture, margins and time are old.'
NOTE = (
    'position:fixed;transform:translateX(-50%);z-index:9999;padding:6px 14px;border-radius:5px;'
    'color:#fff;font:14px sans-serif;pointer-events:none'
)

SCRIPT = (
    """<style>
[data-old] [data-connection] { visibility: hidden }
.uplot-container .uplot { width: 100% }
</style>
<script>
(() => {
  const token = new URLSearchParams(location.search).get('token');
  const post = Worker.prototype.postMessage;
  const later = window.setTimeout;
  let link = null, done = false;
  window.setTimeout = function (call, delay, ...rest) {
    if (!done || delay !== %SHARED%) return later.call(window, call, delay, ...rest);
    done = false;
    call(...rest);
    return 0;
  };
  Worker.prototype.postMessage = function (message, ...rest) {
    if (this === link && message && message.type === 'send' && message.message.type.startsWith('Gui')) {
      done = true;  // the timer that viser sets now is the one that would keep what is done next
      queueMicrotask(() => { done = false; });
    }
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
  const pressed = new Map();
  let tapped = null, tappedAt = -Infinity;
  const switchOf = (event) => event.target.closest?.('button, input[type=checkbox]') ?? null;
  addEventListener('pointerdown', (event) => {
    if (event.pointerType === 'touch' && !event.isPrimary) pressed.set(event.pointerId, switchOf(event));
  }, true);
  addEventListener('pointercancel', (event) => pressed.delete(event.pointerId), true);
  addEventListener('pointerup', (event) => {
    const found = pressed.get(event.pointerId) ?? null;
    pressed.delete(event.pointerId);
    if (found === null || !found.contains(document.elementFromPoint(event.clientX, event.clientY))) return;
    found.click();
    tapped = found;
    tappedAt = performance.now();
  }, true);
  addEventListener('click', (event) => {  // a browser that does make one must not press the button twice
    if (!event.isTrusted || tapped === null || switchOf(event) !== tapped) return;
    if (performance.now() - tappedAt > %TAP%) return;
    event.stopImmediatePropagation();
    event.preventDefault();
    tapped = null;
  }, true);
  document.addEventListener('keydown', (event) => {  // after the lever itself, before the listener of viser
    const lever = event.target instanceof Element && event.target.closest('[role=slider]') !== null;
    if (lever && event.key.startsWith('Arrow')) event.stopImmediatePropagation();
  });
  const put = (note) => {  // in the middle of the picture, not across the panels beside it
    const picture = document.querySelector('canvas')?.getBoundingClientRect();
    note.style.left = picture ? picture.x + picture.width / 2 + 'px' : '50%';
    note.style.maxWidth = picture ? Math.max(picture.width - 60, 120) + 'px' : '';
  };
  const show = (name, words, place) => {
    if (document.querySelector('[data-' + name + ']') !== null) return;
    const note = document.createElement('div');
    note.dataset[name] = 'true';
    note.textContent = words;
    note.style = '%NOTE%;' + place;
    document.body.append(note);
    setInterval(() => put(note), %PERIOD%);
  };
  const lose = () => show('lost', '%LOST%', 'top:60px;background:#c0392b');
  addEventListener('webglcontextlost', (event) => {
    event.preventDefault();  // so that it is given back
    setTimeout(lose, %RESTORED_WITHIN%);
  }, true);
  addEventListener('webglcontextcreationerror', lose, true);
  addEventListener('webglcontextrestored', () => location.reload(), true);
  let beaten = null, since = 0, looked = 0, old = null;
  const silence = () => {
    const state = document.querySelector('[data-beat]'), now = performance.now();
    const rested = now - looked > %STALE%;  // the page itself stood still: first it takes what has come
    if (rested || (state !== null && state.dataset.beat !== beaten)) since = now;
    if (state !== null) beaten = state.dataset.beat;
    looked = now;
    return beaten === null ? 0 : now - since;
  };
  let drawn = performance.now(), drawing = false;
  setInterval(() => {
    if (!drawing) {
      drawing = true;
      requestAnimationFrame(() => { drawing = false; drawn = performance.now(); });
    }
    const silent = silence(), still = performance.now() - drawn;
    if (silent <= %STALE%) {
      if (old !== null) { old.remove(); old = null; delete document.documentElement.dataset.old; }
      return;
    }
    if (old === null) {
      old = document.createElement('div');
      old.dataset.silent = 'true';
      old.style = '%NOTE%;top:12px;background:#c0392b';
      document.body.append(old);
      document.documentElement.dataset.old = 'true';
    }
    put(old);
    const [words, age] = still > %STALE% ? ['%STUCK%', still] : ['%SILENT%', silent];
    old.textContent = words.replace('%S', Math.floor(age / 1000));
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
  addEventListener('DOMContentLoaded', () => show('looking', '%LOOKING%', 'bottom:12px;background:#333'));
})();
</script>
""".replace('%BEAT%', BEAT)
    .replace('%PERIOD%', str(round(1000 * BEAT_PERIOD)))
    .replace('%NOTE%', NOTE)
    .replace('%LOOKING%', LOOKING)
    .replace('%NARROW%', str(NARROW))
    .replace('%TAP%', str(TAP))
    .replace('%SHARED%', str(SHARED))
    .replace('%STALE%', str(round(1000 * STALE)))
    .replace('%LOST%', LOST)
    .replace('%RESTORED_WITHIN%', str(round(1000 * RESTORED_WITHIN)))
    .replace('%SILENT%', SILENT)
    .replace('%STUCK%', STUCK)
)


def with_script(page: bytes) -> bytes:
    """Return a page with the script before everything else that runs. Raises ValueError where it has no head."""
    head = b'<head>'
    before, found, after = page.partition(head)
    if not found:
        raise ValueError('the page of viser: expected <head>')
    return before + found + SCRIPT.encode() + after
