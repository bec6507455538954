// Uses a page as a person would, in the browser that shows it; what it saw stands in <pre id="log">. `expected` comes from the test.
(async () => {
  const log = [];
  const check = (name, holds, seen = '') => log.push(holds ? `ok ${name}` : `FAILED ${name}: ${seen}`);
  const same = (name, seen, right) => check(name, seen === right, `${seen} instead of ${right}`);
  const pause = () => new Promise(done => setTimeout(done, 60));
  const all = selector => [...document.querySelectorAll(selector)];
  const reading = () => document.getElementById('reading').textContent;
  const select = name => document.querySelector(`select[data-choice="${name}"]`);
  const options = name => [...select(name).options].map(option => option.value).join('|');
  const choose = (name, value) => {
    select(name).value = value;
    select(name).dispatchEvent(new Event('change', {bubbles: true}));
  };
  const press = (element, key) => element.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true, cancelable: true}));
  const image = () => document.querySelector('figure image').getAttribute('href');

  try {
    // What is shown at first, and to whom.
    same('page title', document.title, expected.title);
    same('sentences', options('sentence'), 'all|0|1');
    same('kinds', options('kind'), 'encoder self-attention|decoder self-attention|cross-attention');
    same('layers', options('layer'), 'all|0|1');
    same('heads', options('head'), 'all|0|1');
    same('chosen', all('select[data-choice]').map(one => one.value).join('|'), '0|cross-attention|1|all');
    same('figures', all('figure').length, 2);
    check('every list has a name', all('select').every(one => one.labels.length === 1 && one.labels[0].textContent.trim()));
    check('every picture has a name', all('figure svg').every(one => /head \d, \d+ rows by \d+ columns/.test(one.getAttribute('aria-label'))));
    check('every picture can be reached', all('figure svg').every(one => one.tabIndex === 0));
    same('status', document.getElementById('reading').getAttribute('role'), 'status');
    same('names differ', new Set(all('figure svg').map(one => one.getAttribute('aria-label'))).size, 2);

    // Tokens are text, whatever they hold.
    same('tokens', [...document.querySelector('figure svg').querySelectorAll('text')].map(one => one.textContent).join('|'), expected.tokens);
    same('no element came from a token', all('main b, main img, main script, header b').length, 0);

    // The pointer.
    const svg = document.querySelector('figure svg'), box = svg.getBoundingClientRect(), cell = svg.querySelector('.cell');
    const area = svg.querySelector('image');
    const at = (row, column) => new PointerEvent('pointermove', {
      clientX: box.left + Number(area.getAttribute('x')) + (column + .5) * Number(cell.getAttribute('width')),
      clientY: box.top + Number(area.getAttribute('y')) + (row + .5) * Number(cell.getAttribute('height')), bubbles: true,
    });
    svg.dispatchEvent(at(1, 2));
    same('pointed at', reading(), expected.pointed);
    same('row and column stand out', svg.querySelectorAll('text.on').length, 2);
    svg.dispatchEvent(new PointerEvent('pointerleave'));
    same('left alone', svg.querySelectorAll('text.on').length, 0);

    // The keyboard.
    svg.focus();
    check('focus', document.activeElement === svg);
    press(svg, 'ArrowDown');
    press(svg, 'ArrowRight');
    press(svg, 'ArrowRight');
    same('by arrow keys', reading(), expected.pointed);
    press(svg, 'Home');
    press(svg, 'PageUp');
    press(svg, 'ArrowUp');
    press(svg, 'ArrowLeft');
    same('at the first cell', reading(), expected.first);
    press(svg, 'End');
    press(svg, 'PageDown');
    press(svg, 'ArrowDown');
    same('at the last cell', reading(), expected.last);
    press(svg, 'Escape');
    same('put away', cell.style.visibility, 'hidden');

    // Values as a table.
    const details = document.querySelector('figure details');
    details.open = true;
    await pause();
    same('table rows', details.querySelectorAll('tr').length, expected.rows + 1);
    same('table headers', details.querySelectorAll('th[scope=col]').length, expected.columns);
    same('table value', details.querySelectorAll('tr')[2].querySelectorAll('td')[2].textContent, expected.value);

    // Light and dark.
    const theme = document.getElementById('theme'), paper = () => getComputedStyle(document.body).backgroundColor;
    const pick = value => {
      theme.value = value;
      theme.dispatchEvent(new Event('change', {bubbles: true}));
    };
    pick('light');
    const light = image(), white = paper();
    pick('dark');
    check('dark is another page', image() !== light && paper() !== white);
    same('white', white, 'rgb(255, 255, 255)');
    pick('light');
    check('and back', image() === light);

    // Choices.
    choose('head', '1');
    same('one head', all('figcaption strong').map(one => one.textContent).join('|'), 'cross-attention, layer 1, head 1');
    choose('layer', 'all');
    same('a head of all layers', all('figure').length, 2);
    choose('kind', 'encoder self-attention');
    choose('sentence', '1');
    same('another sentence', document.querySelector('figure svg').getAttribute('aria-label').match(/\d+ rows by \d+ columns/)[0], '2 rows by 2 columns');
    await pause();
    same('the address keeps it', location.hash, '#head=1&layer=all&kind=encoder+self-attention&sentence=1');
    location.hash = '#kind=cross-attention&layer=0&head=all&sentence=0';
    await pause();
    same('and leads back', all('figcaption strong').map(one => one.textContent).join('|'), 'cross-attention, layer 0, head 0|cross-attention, layer 0, head 1');

    // The whole of it.
    check('nothing wider than the window', document.documentElement.scrollWidth <= innerWidth, `${document.documentElement.scrollWidth} > ${innerWidth}`);
    same('nothing asked for', performance.getEntriesByType('resource').filter(one => !one.name.startsWith('data:')).length, 0);
    const parsed = new DOMParser().parseFromString(expected.svg, 'image/svg+xml');
    check('the picture is XML', !parsed.querySelector('parsererror') && parsed.documentElement.localName === 'svg', expected.svg.slice(0, 200));
    same('its titles', parsed.querySelectorAll('path > title').length, expected.cells);
    same('errors', troubles.join('; '), '');
  } catch (error) {
    log.push(`FAILED ${error.stack}`);
  }
  const pre = document.createElement('pre');
  pre.id = 'log';
  pre.textContent = [`width ${innerWidth}`, ...log].join('\n');
  document.body.prepend(pre);
})();
