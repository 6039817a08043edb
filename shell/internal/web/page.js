// The page works without this script. It adds keys, the next card before it is asked for, and live counts.
'use strict';
(() => {
  const $ = (selector, from = document) => from.querySelector(selector);
  const all = (selector, from = document) => [...from.querySelectorAll(selector)];
  const main = $('#main');

  const say = text => { $('#said-text').textContent = text; };
  const fail = text => {
    const line = $('#problem');
    line.textContent = text;
    line.hidden = !text;
  };

  // change sends a change. An error is an Error with the text for the person. What is under way is sent even if the page is left.
  let underWay = 0;
  addEventListener('beforeunload', event => { if (underWay) event.preventDefault(); });
  async function change(path, fields, unsaved) {
    underWay++;
    try {
      const answer = await fetch(path, {
        method: 'POST', headers: { Accept: 'application/json', 'Content-Type': 'application/x-www-form-urlencoded' },
        body: new URLSearchParams(fields), keepalive: true,
      }).catch(() => { throw new Error('graphcleaner has ended. ' + unsaved); });
      const view = await answer.json().catch(() => ({ error: unsaved + ' ' + earlier }));
      if (!answer.ok) throw Object.assign(new Error(view.error), { status: answer.status });
      return view;
    } finally { underWay--; }
  }
  const ended = 'graphcleaner has ended. Start it again, and open its address.';
  const earlier = 'This page is of an earlier start of graphcleaner: open the address that it printed last.';

  // content is the content of another page of this server.
  async function content(path) {
    const answer = await fetch(path, { headers: { Accept: 'text/html' } });
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
    const fresh = $('#main', page);
    if (!fresh) throw new Error(earlier);
    return { title: page.title, main: fresh, said: $('#said', page) };
  }

  function show(page) {
    main.replaceChildren(...page.main.childNodes);
    document.title = page.title;
    prepare();
    scrollTo(0, 0);
    main.focus({ preventScroll: true });
  }

  // A reply counts once what it is about has been on the screen for a while: nobody reads a card and replies in less. A key that comes
  // before is dropped, and the while begins anew.
  const unread = 150; // ms
  let turn = 0, acting = false, slow = 0;
  const isBusy = () => main.ariaBusy === 'true';
  function hold() {
    main.ariaBusy = 'true';
    return ++turn;
  }
  function release() {
    const mine = hold();
    const end = () => { if (mine === turn) main.ariaBusy = 'false'; };
    requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(end, unread)));
  }
  function refuse(event) {
    event.preventDefault();
    if (!acting) release();
  }

  // act makes a change and shows what comes after it. The next one waits for that.
  async function act(work) {
    acting = true;
    hold();
    fail('');
    slow = setTimeout(() => say('storing …'), 300);
    try {
      await work();
    } catch (error) {
      if (error.said) $('#said').replaceWith(error.said);
      else say('');
      fail(error.message);
    } finally {
      clearTimeout(slow);
      acting = false;
      release();
    }
  }
  function told(view) {
    clearTimeout(slow);
    say(view.said);
    if ($('#undo')) {
      $('#undo').hidden = !view.undo;
      $('#undo [name=step]').value = view.undo;
    }
  }

  // Cards.
  let next = null; // the card behind the one that is shown: a promise of its content

  const card = () => $('.card[data-id]');
  const isAudit = document.body.dataset.page === 'audit';
  const queueAddress = (of, not) => isAudit ? 'audit' : 'review?' + new URLSearchParams({ where: of.dataset.where || '', ...(not && { not }) });
  const nodeAddress = (id, of) => isAudit ? 'audit' : 'node?' + new URLSearchParams({ id, where: of.dataset.where || '' });

  // fetchNext fetches the next card while the person looks at this one. The end of the queue counts replies, so it is fetched after the last,
  // and so is each draw of an audit.
  function fetchNext() {
    const of = card();
    next = of && !isAudit ? content(queueAddress(of, of.dataset.id)).then(page => $('.card[data-id]', page.main) ? page : null, () => null) : null;
  }

  const reply = (path, fields) => act(async () => {
    const of = card(), ready = next;
    const address = queueAddress(of), shown = location.href;
    try {
      told(await change(path, fields, 'This decision was not saved.'));
    } catch (error) {
      if (error.status === 409) show(await content(nodeAddress(fields.id, of))); // the node has changed
      throw error;
    }
    show(await ready || await content(address));
    if (shown !== new URL(address, shown).href) history.replaceState(null, '', address);
  });

  const undo = () => act(async () => {
    const of = $('.card');
    const fields = Object.fromEntries(new FormData($('#undo')));
    let view;
    try {
      view = await change('undo', of ? { ...fields, where: of.dataset.where } : fields, 'Nothing is taken back.');
    } catch (error) {
      if (error.status === 409) error.said = (await content(location.href)).said; // of what is the last reply now
      throw error;
    }
    told(view);
    if (!view.id || !of) {
      location.reload();
      return new Promise(() => {}); // until the page is there again
    }
    show(await content(nodeAddress(view.id, of)));
    if ($('#why')) $('#why').value = view.why || '';
  });

  // renew brings parts of the page up to date, and says whether any of them is another now.
  async function renew(path, parts, isWanted = () => true) {
    const page = await content(path).catch(() => null); // the stream tells when the server is back
    if (!page || !isWanted()) return false;
    const changed = parts.filter(part => $(part) && $(part, page.main) && $(part).outerHTML !== $(part, page.main).outerHTML);
    changed.forEach(part => $(part).replaceWith($(part, page.main)));
    return changed.length > 0;
  }

  // settle shows the card with the scores as they are now. What somebody types at it stays.
  async function settle() {
    const of = card();
    if (!of || acting || isAudit) return;
    const parts = ['.labels', '.evidence', '.score', '.buttons', '.choices', '.seen'];
    if (await renew(nodeAddress(of.dataset.id, of), parts, () => of === card() && !acting)) release();
    if (of === card() && !acting) fetchNext();
  }

  // reaudit brings an audit up to date: somebody else may have decided on the draw that is shown.
  async function reaudit() {
    const of = card();
    const page = isAudit && !acting && await content('audit').catch(() => null);
    if (!page || acting || of !== card()) return;
    const fresh = $('.card', page.main);
    if (fresh?.dataset.id !== of?.dataset.id) {
      if (of) say(`${of.dataset.id} is decided elsewhere, or has left.`);
      show(page);
    } else if ($('#standing').textContent !== $('#standing', page.main).textContent) {
      $('#standing').replaceWith($('#standing', page.main));
    }
  }

  document.addEventListener('submit', event => {
    const form = event.target, button = event.submitter;
    if (form.matches('#decide, #undo') && isBusy()) {
      refuse(event);
    } else if (form.matches('#decide')) { // form.id is the field of that name
      event.preventDefault();
      const fields = Object.fromEntries(new FormData(form));
      if (button && button.name) fields[button.name] = button.value;
      if (document.activeElement && document.activeElement.id === 'why') {
        main.focus();
        return;
      }
      if (fields.decision === 'relabel' && !fields.label) {
        fail('Type a label.');
        $('#label').focus();
        return;
      }
      const classes = all('#classes option').map(option => option.value);
      if (fields.decision === 'relabel' && classes.length && !classes.includes(fields.label)) {
        const typed = fields.label.toLowerCase();
        const found = classes.filter(name => name.toLowerCase().startsWith(typed));
        const within = found.length ? found : classes.filter(name => name.toLowerCase().includes(typed));
        if (within.length !== 1) {
          fail(within.length ? 'Which one: ' + within.slice(0, 8).join(', ') + '?' : 'No class is named ' + fields.label + '.');
          $('#label').select();
          return;
        }
        fields.label = within[0];
      }
      reply(button && button.getAttribute('formaction') || 'decide', fields);
    } else if (form.matches('#undo')) {
      event.preventDefault();
      undo();
    } else if (form.matches('#bulk') && !$(':checked', form)) {
      event.preventDefault();
      fail('Select nodes first.');
    }
  });

  // Walking over the picture.
  const hint = event => {
    const node = event.target.closest && event.target.closest('.picture svg :is(a, g)');
    const caption = $('#hint');
    if (!node || !caption) return;
    caption.textContent = $('title', node).textContent;
  };
  document.addEventListener('mouseover', hint);
  document.addEventListener('focusin', hint);

  async function showNumbers(details) {
    if (!details.open || details.dataset.done) return;
    details.dataset.done = '1';
    try {
      const page = await content(details.dataset.from);
      const sections = $('#sections', page.main);
      $('p', details).replaceWith(sections || 'There are no numbers.');
    } catch {
      delete details.dataset.done;
    }
  }

  // The list.
  const boxes = () => all('.nodes [name=ids]');
  let last = -1; // the row that was chosen last
  function mark(at) {
    const rows = all('.nodes tbody tr');
    if (!rows.length) return;
    last = Math.max(0, Math.min(at, rows.length - 1));
    rows.forEach((row, i) => row.classList.toggle('current', i === last));
    const box = $('[name=ids]', rows[last]);
    if (box) box.focus();
    rows[last].scrollIntoView({ block: 'nearest' });
  }
  function countSelected() {
    const line = $('#selected');
    if (!line) return;
    const n = boxes().filter(box => box.checked).length;
    if (n) fail('');
    line.textContent = $('#all').checked ? 'Decide about all that meet the condition'
      : n === 0 ? 'Select nodes to decide about them, or' : n === 1 ? 'Decide about the selected node' : `Decide about the ${n} selected nodes`;
  }
  document.addEventListener('click', event => {
    const box = event.target;
    if (box.name === 'ids') {
      const list = boxes(), at = list.indexOf(box);
      if (event.shiftKey && last >= 0) {
        list.slice(Math.min(last, at), Math.max(last, at) + 1).forEach(other => { other.checked = box.checked; });
      }
      last = at;
      all('.nodes tbody tr').forEach((row, i) => row.classList.toggle('current', i === last));
    }
    if (box.closest && box.closest('#show-help')) $('#help').showModal();
    countSelected();
  });

  // Keys.
  document.addEventListener('keydown', event => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    const at = event.target;
    if (event.key === 'Escape' && at.matches('input, textarea')) {
      at.blur();
      return;
    }
    if ($('dialog[open]') || at.matches('input:not([type=checkbox]), textarea, select')) return;
    const focus = selector => {
      const field = $(selector);
      if (!field) return false;
      const around = field.closest('details');
      if (around) around.open = true;
      field.focus();
      if (field.select) field.select();
      return true;
    };
    const rows = $('.nodes');
    const actions = {
      '?': () => ($('#help').showModal(), true),
      g: () => focus('#goto input'),
      l: () => focus('#label'),
      w: () => focus('#why'),
      '/': () => focus('#where'),
      e: () => {
        const details = $('#numbers');
        if (details) details.open = !details.open;
        return !!details;
      },
      j: () => rows && (step(event, 1), true),
      k: () => rows && (step(event, -1), true),
      x: () => {
        const box = rows && boxes()[last];
        if (box) box.checked = !box.checked;
        countSelected();
        return !!box;
      },
    };
    actions.J = actions.j;
    actions.K = actions.k;
    if (rows) {
      actions.ArrowDown = actions.j;
      actions.ArrowUp = actions.k;
    }
    const button = $(`[data-key="${CSS.escape(event.key)}"]`);
    if (isBusy() && (button || !rows)) {
      refuse(event);
    } else if (actions[event.key] && actions[event.key]()) {
      event.preventDefault();
    } else if (button && !button.hidden && !(button.closest('[hidden]')) && !event.repeat) {
      event.preventDefault();
      button.click();
    }
  });
  function step(event, by) {
    const list = boxes();
    const from = last;
    mark(last + by);
    if (event.shiftKey && list.length) {
      if (list[from]) list[from].checked = true;
      if (list[last]) list[last].checked = true;
    }
    countSelected();
  }

  // What happens meanwhile.
  let refreshing = 0; // of two answers, that of the earlier question may come last
  async function refresh(whole) {
    const bar = $('#progress'), mine = ++refreshing;
    if (!bar) return;
    try {
      const answer = await fetch(whole ? location.href : 'progress', { headers: { Accept: 'text/html' } });
      const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
      const fresh = $('#progress', page);
      if (mine !== refreshing && !whole) return;
      const open = $('details', bar)?.open;
      if (fresh) bar.replaceChildren(...fresh.childNodes);
      if (open && $('details', bar)) $('details', bar).open = true;
      if (whole) show({ title: page.title, main: $('#main', page) });
    } catch { /* the stream tells when the server is back */ }
  }
  // relist brings the list up to date: its rows too, unless some are selected. The current row stays the current one.
  let listing = 0;
  async function relist() {
    if (!$('#bulk') || acting) return;
    const chosen = () => all(':checked', $('#bulk')).length;
    const mine = ++listing, before = chosen(), counts = ['#list-count', '#pages', '#all-count'];
    let current;
    const isWanted = () => {
      current = boxes()[last]?.value;
      return !acting && chosen() === before && mine === listing;
    };
    if (!await renew(location.href, before ? counts : [...counts, '#notices', '.nodes tbody'], isWanted)) return;
    release();
    last = boxes().findIndex(box => box.value === current);
    if (last >= 0) $('.nodes tbody').rows[last].classList.add('current');
    if (last >= 0 && document.activeElement === document.body) boxes()[last].focus({ preventScroll: true });
  }

  // listen has a stream while the page is seen: a browser has few connections to one server, which decisions need too.
  let stream = null, heard = false;
  function listen() {
    if (stream) stream.close();
    stream = null;
    if (document.hidden) return;
    const mine = stream = new EventSource('events');
    let waiting = 0, silent = 0;
    mine.addEventListener('open', () => {
      clearTimeout(silent);
      silent = 0;
      if (heard) refresh(false); // what happened meanwhile
      relist();
      reaudit();
      if ($('.card[data-settling]')) settle();
      heard = true;
      if ([ended, earlier].includes($('#problem').textContent)) fail('');
    });
    mine.addEventListener('progress', () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => {
        refresh(false);
        relist();
        reaudit();
      }, 100);
    });
    mine.addEventListener('overview', () => { if ($('#counting')) refresh(true); });
    mine.addEventListener('settled', settle);
    mine.addEventListener('error', () => {
      silent ||= setTimeout(async () => {
        if (mine !== stream) return;
        const answer = await fetch('progress').catch(() => null);
        if (!answer || answer.status === 403) $('#problem').textContent.startsWith('graphcleaner has ended') || fail(answer ? earlier : ended);
        else if (mine === stream && mine.readyState === EventSource.CLOSED) listen();
      }, 3000);
    });
  }
  document.addEventListener('visibilitychange', listen);
  addEventListener('pagehide', () => { if (stream) stream.close(); });

  // prepare is called for each content.
  function prepare() {
    last = -1;
    all('time').forEach(of => {
      const at = new Date(of.dateTime);
      if (!isNaN(at)) of.textContent = at.toLocaleString([], { dateStyle: 'medium', timeStyle: 'short' });
    });
    const details = $('#numbers');
    if (details) details.addEventListener('toggle', () => showNumbers(details));
    const back = $('#undo-back');
    if (back && !isAudit) back.value = document.body.dataset.page === 'list' ? 'list' + location.search : '';
    countSelected();
    fetchNext();
    release();
  }

  $('#show-help').hidden = false;
  prepare();
  listen();
})();
