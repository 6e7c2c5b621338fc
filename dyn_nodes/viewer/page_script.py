"""Script added to viser's page: passes the token to the websocket, sends beats and monitors beats of the server.

viser's page opens its websocket in a worker, from the page's address without its query. The script adds the token, for
this server only. Beats are sent by the page itself, not by the worker: a frozen, hidden or closed page sends none. The
server also sends a beat, a number in the banner. If that number does not change, the page hides the banner, whose time
and real-time factor are old, and shows the age. A browser that is too slow to draw is reported as such, and not as a
stopped viewer.

viser's page sends user actions at most every 50 ms, with one timer for all elements of a panel, and only the last
action of an interval. A page that is blocked for a moment would lose all actions but the last. The script therefore
runs that timer's function immediately. Browsers do not create a click for the tap of a second finger. The script does:
levers can be set to neutral while a finger is on one.

viser turns the camera with the arrow keys regardless of the focus; the script hides arrow keys on levers from it. viser
also creates a plot before its width is known, with the legend in a narrow column; the style sets the panel's width.

If the graphics process of a browser ends, as may happen on a busy computer, the page gets an empty context in which
viser draws only part of the machine. The script then reloads the page, or shows a note if there is no new context.

The key in `[data-hold-key]` acts while it is held, by a pointer on it or as a key of the keyboard. Each beat has the
number of the present press. A press ends with its release, and if the page loses the focus or is hidden, or the key is
disabled.

On a narrow page the instruments on the left start folded to leave room for the machine; the banner shows the worst
gauge. Once unfolded they stay unfolded.
"""

BEAT = 'DynNodesBeat'
BEAT_PERIOD = 0.2
"""Period of beats, s."""
NARROW = 1000
"""Width of a page below which the instruments start folded, pixels."""
SHARED = 50
"""Period in which viser's page sends one action, ms."""
TAP = 500
"""Time after the tap of a second finger in which a click of the browser is a duplicate, ms."""
HOLD_KEY = 'o'
"""Key of the keyboard that is the same as the held key on the page."""
HOLD_PERIOD = 0.1
"""Period of beats while the key is held, s."""
STALE = 3.0
"""Time without a beat of the server after which a page counts as old, s."""
LOOKING = 'This page is view-only. To drive, open the address with its token, as printed in the terminal.'

STOPPED = 'The viewer has sent no data for %S s: picture, margins and time are old.'
LOST = 'This browser no longer draws the picture. Margins and levers still work. Restart the browser.'
RESTORED_WITHIN = 10.0
"""Time without a new graphics context after which a note is shown, s."""
STUCK = 'This browser has not drawn for %S s: picture, margins and time are old.'
NOTE = (
    'position:fixed;transform:translateX(-50%);z-index:9999;padding:6px 14px;border-radius:5px;'
    'color:#fff;font:14px sans-serif;pointer-events:none'
)

SCRIPT = (
    """<style>
[data-old] [data-connection] { visibility: hidden }
.uplot-container .uplot { width: 100% }
[data-hold-key][data-held] { background: #d52b1e !important; color: #fff !important }
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
      done = true;  // viser now sets the timer that would delay the next action
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
  let press = 0, presses = 0, holder = null;
  const beat = (visible) => {
    if (link !== null) post.call(link, { type: 'send', message: { type: '%BEAT%', visible, press } });
  };
  const holdKey = () => document.querySelector('[data-hold-key]:not([disabled])');
  const hold = (by) => {
    if (holder !== null || holdKey() === null) return;
    holder = by;
    press = ++presses;
    holdKey().dataset.held = 'true';
    beat(document.visibilityState === 'visible');
  };
  const release = () => {
    if (holder === null) return;
    holder = null;
    press = 0;
    document.querySelector('[data-held]')?.removeAttribute('data-held');
    beat(document.visibilityState === 'visible');
  };
  setInterval(() => {
    if (holder === null) return;
    if (holdKey() === null) release();
    else beat(document.visibilityState === 'visible');
  }, %HOLD_PERIOD%);
  addEventListener('pointerdown', (event) => {
    const key = event.target.closest?.('[data-hold-key]');
    if (!key || event.button !== 0) return;
    key.setPointerCapture(event.pointerId);  // the release outside of the key is received
    hold(event.pointerId);
  }, true);
  for (const kind of ['pointerup', 'pointercancel', 'lostpointercapture']) {
    addEventListener(kind, (event) => { if (event.pointerId === holder) release(); }, true);
  }
  addEventListener('contextmenu', (event) => {  // of a finger that rests on the key
    if (event.target.closest?.('[data-hold-key]')) event.preventDefault();
  }, true);
  addEventListener('keydown', (event) => {
    const typed = event.target.closest?.('input:not([type=checkbox]), textarea');
    const plain = !event.repeat && !event.ctrlKey && !event.altKey && !event.metaKey;
    if (plain && !typed && event.key.toLowerCase() === '%HOLD_KEY%') hold('key');
  }, true);
  addEventListener('keyup', (event) => {
    if (holder === 'key' && event.key.toLowerCase() === '%HOLD_KEY%') release();
  }, true);
  addEventListener('blur', release);
  addEventListener('pagehide', release);
  document.addEventListener('visibilitychange', release);
  const pressed = new Map();
  let tapped = null, tappedAt = -Infinity;
  const switchOf = (event) => event.target.closest?.('button, input[type=checkbox]') ?? null;
  addEventListener('pointerdown', (event) => {
    if (event.pointerType === 'touch' && !event.isPrimary) pressed.set(event.pointerId, switchOf(event));
  }, true);
  addEventListener('pointercancel', (event) => pressed.delete(event.pointerId), true);
  addEventListener('pointerup', (event) => {
    const control = pressed.get(event.pointerId) ?? null;
    pressed.delete(event.pointerId);
    if (control === null || !control.contains(document.elementFromPoint(event.clientX, event.clientY))) return;
    control.click();
    tapped = control;
    tappedAt = performance.now();
  }, true);
  addEventListener('click', (event) => {  // a browser that creates a click itself must not press the button twice
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
  const put = (note) => {  // in the middle of the picture, not over the panels
    const picture = document.querySelector('canvas')?.getBoundingClientRect();
    note.style.left = picture ? picture.x + picture.width / 2 + 'px' : '50%';
    note.style.maxWidth = picture ? Math.max(picture.width - 60, 120) + 'px' : '';
  };
  const show = (name, words, position) => {
    if (document.querySelector('[data-' + name + ']') !== null) return;
    const note = document.createElement('div');
    note.dataset[name] = 'true';
    note.textContent = words;
    note.style = '%NOTE%;' + position;
    document.body.append(note);
    setInterval(() => put(note), %PERIOD%);
  };
  const lose = () => show('lost', '%LOST%', 'top:60px;background:#c0392b');
  addEventListener('webglcontextlost', (event) => {
    event.preventDefault();  // allows the browser to restore the context
    setTimeout(lose, %RESTORED_WITHIN%);
  }, true);
  addEventListener('webglcontextcreationerror', lose, true);
  addEventListener('webglcontextrestored', () => location.reload(), true);
  let beaten = null, since = 0, looked = 0, old = null;
  const beatAge = () => {
    const state = document.querySelector('[data-beat]'), now = performance.now();
    const rested = now - looked > %STALE%;  // the page itself was blocked: it first handles pending messages
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
    const age = beatAge(), still = performance.now() - drawn;
    if (age <= %STALE%) {
      if (old !== null) { old.remove(); old = null; delete document.documentElement.dataset.old; }
      return;
    }
    if (old === null) {
      old = document.createElement('div');
      old.dataset.stale = 'true';
      old.style = '%NOTE%;top:12px;background:#c0392b';
      document.body.append(old);
      document.documentElement.dataset.old = 'true';
    }
    put(old);
    const [words, time] = still > %STALE% ? ['%STUCK%', still] : ['%STOPPED%', age];
    old.textContent = words.replace('%S', Math.floor(time / 1000));
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
    .replace('%HOLD_KEY%', HOLD_KEY)
    .replace('%HOLD_PERIOD%', str(round(1000 * HOLD_PERIOD)))
    .replace('%TAP%', str(TAP))
    .replace('%SHARED%', str(SHARED))
    .replace('%STALE%', str(round(1000 * STALE)))
    .replace('%LOST%', LOST)
    .replace('%RESTORED_WITHIN%', str(round(1000 * RESTORED_WITHIN)))
    .replace('%STOPPED%', STOPPED)
    .replace('%STUCK%', STUCK)
)


def with_script(page: bytes) -> bytes:
    """Return a page with the script before all others. Raises ValueError if the page has no head."""
    head = b'<head>'
    before, separator, after = page.partition(head)
    if not separator:
        raise ValueError('the page of viser: expected <head>')
    return before + separator + SCRIPT.encode() + after
