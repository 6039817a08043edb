// The page works without this script. It adds keys and live counts, and changes the content in place.
'use strict';
(() => {
  const $ = (selector, from = document) => from.querySelector(selector);
  const ended = 'graphcleaner has ended, or was started anew. Open the address that it printed last.';

  const fail = text => {
    $('#problem').textContent = text;
    $('#problem').hidden = !text;
  };

  // page fetches a page of this server.
  async function page(path, options = {}) {
    const answer = await fetch(path, { headers: { Accept: 'text/html' }, ...options }).catch(() => null);
    const fresh = answer && new DOMParser().parseFromString(await answer.text(), 'text/html');
    if (!fresh || !$('#main', fresh)) throw new Error(ended);
    return { answer, fresh };
  }

  // A reply counts once what it is about has been on the screen for a while: nobody reads a card and replies in less. A
  // key that comes before is dropped, and the while begins anew.
  const unread = 150; // ms
  let turn = 0, acting = false;
  const isBusy = () => $('#main').ariaBusy === 'true';
  function hold() {
    $('#main').ariaBusy = 'true';
    const mine = ++turn;
    const end = () => { if (mine === turn && !acting) $('#main').ariaBusy = 'false'; };
    requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(end, unread)));
  }

  // send makes a change, and shows the page that comes after it in place.
  async function send(form, button) {
    const fields = new URLSearchParams(new FormData(form, button));
    acting = true;
    hold();
    try {
      const { answer, fresh } = await page(button?.getAttribute('formaction') || form.getAttribute('action'),
        { method: 'POST', body: fields, keepalive: true });
      if (fresh.body.dataset.page === 'problem') {
        fail($('#problem', fresh).textContent);
        return;
      }
      for (const part of ['#main', '#state']) $(part).replaceWith($(part, fresh));
      document.body.dataset.page = fresh.body.dataset.page;
      document.title = fresh.title;
      if (answer.redirected) history.replaceState(null, '', answer.url);
      scrollTo(0, 0);
      ($('#main [autofocus]') || $('#main')).focus({ preventScroll: true });
    } catch (error) {
      fail(error.message);
    } finally {
      acting = false;
      hold();
      count();
    }
  }

  document.addEventListener('submit', event => {
    if (event.target.method !== 'post') return;
    event.preventDefault();
    if (document.activeElement?.id === 'why') $('#main').focus(); // the reason is of the next decision
    else if (isBusy()) acting || hold();
    else send(event.target, event.submitter);
  });

  document.addEventListener('keydown', event => {
    const at = event.target;
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || event.repeat) return;
    if (event.key === 'Escape') at.blur();
    if (at.matches('input:not([type=checkbox]), textarea')) return;
    const field = { g: '#goto', l: '#label', w: '#why', '/': '#where' }[event.key];
    const target = $(field || `[data-key="${CSS.escape(event.key)}"]`);
    if (!target) return;
    event.preventDefault();
    if (field) target.select();
    else if (isBusy()) acting || hold();
    else target.click();
  });

  async function count() {
    if (document.hidden || acting || !$('#progress')) return;
    try {
      const { fresh } = await page('progress');
      if (!acting) $('#progress')?.replaceWith($('#progress', fresh));
      if ($('#problem').textContent === ended) fail('');
    } catch (error) {
      fail(error.message);
    }
  }

  setInterval(count, 3000); // others decide too
  count();
  hold();
})();
