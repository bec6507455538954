// Draws the panels of a page: `pages/panel.cpp` writes the data.
'use strict';
(() => {
  const data = JSON.parse(document.getElementById('data').textContent);
  const form = document.getElementById('choices');
  const main = document.getElementById('panels');
  const reading = document.getElementById('reading');

  const make = (tag, attributes = {}, ...children) => {
    const svg = ['svg', 'text', 'rect', 'image'].includes(tag);
    const element = svg ? document.createElementNS('http://www.w3.org/2000/svg', tag) : document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    element.append(...children);
    return element;
  };

  // --- numbers ---

  const decode = panel => {
    if (typeof panel.values !== 'string') return panel.values;
    const bytes = atob(panel.values);
    const values = new Float64Array(bytes.length / 2);
    for (let i = 0; i < values.length; ++i) {
      const code = bytes.charCodeAt(2 * i) | bytes.charCodeAt(2 * i + 1) << 8;
      values[i] = code === 65535 ? NaN : code === 65534 ? Infinity : code === 65533 ? -Infinity
        : code === 32766 && !panel.weights ? 0 : panel.low + (panel.high - panel.low) * code / 65532;
    }
    return panel.values = values;
  };

  const shown = (panel, value) => {
    if (!Number.isFinite(value)) return String(value).replace('-', '−').replace('Infinity', '∞');
    if (value === 0 || panel.weights && value === 1) return String(value);
    if (panel.weights) return value < 0.0001 ? '< 0.0001' : value.toFixed(4);
    return value.toPrecision(4).replace('-', '−');
  };

  const label = (panel, axis, index) => {
    const list = data.labels[panel[axis]];
    return list ? list[index] : String(index);
  };
  // For a token in a sentence: written from right to left it would turn the numbers and arrows around it.
  const isolated = text => /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff\u{10800}-\u{10fff}\u{1e800}-\u{1efff}]/u.test(text) ? `\u2068${text}\u2069` : text;

  // --- colours ---

  const colour = name => {
    const text = getComputedStyle(document.documentElement).getPropertyValue('--' + name).trim();
    return [1, 3, 5].map(at => parseInt(text.slice(at, at + 2), 16));
  };

  const scale = panel => {
    const stops = (panel.weights ? ['pale', 'middle', 'full'] : ['minus', 'zero', 'plus']).map(colour);
    const odd = colour('odd');
    return value => {
      if (Number.isNaN(value)) return odd;
      const place = 2 * Math.min(1, Math.max(0, (value - panel.low) / (panel.high - panel.low)));
      const first = place < 1 ? 0 : 1, share = place - first;
      return stops[first].map((from, i) => Math.round(from + (stops[first + 1][i] - from) * share));
    };
  };

  const picture = panel => {
    const [rows, columns] = panel.size, values = decode(panel), paint = scale(panel);
    const canvas = make('canvas', {width: Math.max(1, columns), height: Math.max(1, rows)});
    const context = canvas.getContext('2d'), pixels = context.createImageData(canvas.width, canvas.height);
    for (let i = 0; i < values.length; ++i) pixels.data.set([...paint(values[i]), 255], 4 * i);
    context.putImageData(pixels, 0, 0);
    return canvas.toDataURL();
  };

  // --- one panel ---

  const ruler = document.createElement('canvas').getContext('2d');
  const short = text => {
    const letters = Array.from(text);
    return letters.length > 16 ? letters.slice(0, 15).join('') + '…' : text;
  };
  const longest = (panel, axis, count) => {
    ruler.font = 'bold 12px system-ui, sans-serif';
    let most = 0;
    for (let i = 0; i < count; ++i) most = Math.max(most, ruler.measureText(short(label(panel, axis, i))).width);
    return Math.ceil(most);
  };
  const cell = count => count <= 12 ? 24 : count <= 24 ? 17 : count <= 64 ? 14 : count <= 160 ? 7 : 3;

  const draw = panel => {
    const [rows, columns] = panel.size, w = cell(columns), h = Math.max(14, cell(rows));
    const left = longest(panel, 'rows', rows) + 8, top = longest(panel, 'columns', columns) + 8;
    const width = left + w * columns + 10, height = top + h * rows + 4;
    const svg = make('svg', {
      width, height, viewBox: `0 0 ${width} ${height}`, tabindex: 0, role: 'application', 'aria-roledescription': 'heat map',
      'aria-label': `${panel.title}, ${rows} rows by ${columns} columns. Arrow keys read the values.`,
    });
    const image = make('image', {x: left, y: top, width: w * columns, height: h * rows, preserveAspectRatio: 'none', href: picture(panel)});
    const cursor = make('rect', {class: 'cell', width: w, height: h});
    svg.append(image, make('rect', {class: 'edge', x: left, y: top, width: w * columns, height: h * rows}), cursor);
    const rowTexts = [], columnTexts = [];
    for (let i = 0; i < rows; ++i) {
      rowTexts[i] = make('text', {x: left - 5, y: top + h * i + h / 2 + 4, 'text-anchor': 'end'}, short(label(panel, 'rows', i)));
      svg.append(rowTexts[i]);
    }
    for (let j = 0, step = Math.ceil(13 / w); j < columns; j += step) {
      columnTexts[j] = make('text', {transform: `translate(${left + w * j + w / 2 + 4} ${top - 5}) rotate(-90)`}, short(label(panel, 'columns', j)));
      svg.append(columnTexts[j]);
    }

    let at = null;
    const mark = place => {
      for (const [texts, axis] of [[rowTexts, 0], [columnTexts, 1]]) {
        if (at) texts[at[axis]]?.removeAttribute('class');
        if (place) texts[place[axis]]?.setAttribute('class', 'on');
      }
      at = place;
      cursor.style.visibility = place ? 'visible' : 'hidden';
      if (!place) return;
      cursor.setAttribute('x', left + w * place[1]);
      cursor.setAttribute('y', top + h * place[0]);
      reading.textContent = `${panel.title}: ${isolated(label(panel, 'rows', place[0]))} → ${isolated(label(panel, 'columns', place[1]))}: `
        + shown(panel, decode(panel)[place[0] * columns + place[1]]);
    };
    svg.addEventListener('pointermove', event => {
      const box = svg.getBoundingClientRect();
      const column = Math.floor((event.clientX - box.left - left) / w), row = Math.floor((event.clientY - box.top - top) / h);
      mark(row >= 0 && row < rows && column >= 0 && column < columns ? [row, column] : null);
    });
    svg.addEventListener('pointerleave', () => mark(null));
    svg.addEventListener('focus', () => { if (!at && rows && columns) mark([0, 0]); });
    svg.addEventListener('blur', () => mark(null));
    svg.addEventListener('keydown', event => {
      if (event.key === 'Escape') return mark(null);
      if (event.ctrlKey || event.altKey || event.metaKey || !rows || !columns) return;
      const [row, column] = at ?? [0, 0];
      const to = {
        ArrowUp: [row - 1, column], ArrowDown: [row + 1, column], ArrowLeft: [row, column - 1], ArrowRight: [row, column + 1],
        Home: [row, 0], End: [row, columns - 1], PageUp: [0, column], PageDown: [rows - 1, column],
      }[event.key];
      if (!to) return;
      event.preventDefault();
      mark([Math.min(rows - 1, Math.max(0, to[0])), Math.min(columns - 1, Math.max(0, to[1]))]);
      cursor.scrollIntoView({block: 'nearest', inline: 'nearest'});
    });
    svg.repaint = () => image.setAttribute('href', picture(panel));
    return svg;
  };

  const table = panel => {
    const [rows, columns] = panel.size, values = decode(panel);
    const head = make('tr', {}, make('td'));
    for (let j = 0; j < columns; ++j) head.append(make('th', {scope: 'col'}, label(panel, 'columns', j)));
    const body = make('table', {'aria-label': panel.title}, head);
    for (let i = 0; i < rows; ++i) {
      const line = make('tr', {}, make('th', {scope: 'row'}, label(panel, 'rows', i)));
      for (let j = 0; j < columns; ++j) line.append(make('td', {}, shown(panel, values[i * columns + j])));
      body.append(line);
    }
    return body;
  };

  const figure = panel => {
    const caption = make('figcaption', {}, make('strong', {}, panel.title), make('span', {}, panel.axes));
    if (panel.formula) caption.append(make('code', {}, panel.formula));
    const bar = make('div', {class: 'bar ' + (panel.weights ? 'weights' : 'signed')}, shown(panel, panel.low), make('i'), shown(panel, panel.high));
    const details = make('details', {}, make('summary', {}, 'Values'));
    details.addEventListener('toggle', () => {
      if (details.open && details.children.length === 1) details.append(make('div', {class: 'scroll', tabindex: 0}, table(panel)));
    });
    return make('figure', {'aria-label': panel.title}, caption, bar, make('div', {class: 'scroll'}, draw(panel)), details);
  };

  // --- what is shown ---

  const every = 'all';
  const wanted = new Map([...data.chosen, ...new URLSearchParams(location.hash.slice(1))]);

  // Panels that a choice leaves, when the choices before it have been made.
  const chosen = () => {
    let left = data.panels;
    form.querySelectorAll('select[data-choice]').forEach(select => {
      const name = select.dataset.choice, values = [];
      for (const panel of left) if (name in panel.choice && !values.includes(panel.choice[name])) values.push(panel.choice[name]);
      const options = values.length > 1 && name !== 'kind' ? [every, ...values] : values;
      // A page of heads alone shows them all; among other panels one of them explains enough.
      const first = name === 'head' && left.every(panel => name in panel.choice) ? options[0]
        : name === 'kind' && values.includes('cross-attention') ? 'cross-attention' : name === 'layer' ? values.at(-1) : values[0];
      const value = options.includes(wanted.get(name)) ? wanted.get(name) : first;
      select.replaceChildren(...options.map(option => make('option', {value: option}, option)));
      if (value !== undefined) select.value = value;
      select.parentElement.hidden = values.length < 2;
      left = left.filter(panel => !(name in panel.choice) || value === every || panel.choice[name] === value);
    });
    return left;
  };

  const show = () => main.replaceChildren(...chosen().map(figure));
  const repaint = () => main.querySelectorAll('svg').forEach(svg => svg.repaint());

  for (const name of data.choices) form.append(make('label', {}, name, make('select', {'data-choice': name})));
  const theme = make('select', {id: 'theme'}, ...['as the system', 'light', 'dark'].map(value => make('option', {value}, value)));
  form.append(make('label', {}, 'colours', theme));
  theme.addEventListener('change', () => {
    document.documentElement.dataset.theme = theme.value;
    repaint();
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', repaint);
  form.addEventListener('submit', event => event.preventDefault());
  form.addEventListener('change', event => {
    if (!event.target.dataset.choice) return;
    wanted.set(event.target.dataset.choice, event.target.value);
    show();
    location.replace('#' + new URLSearchParams([...wanted]));
  });
  addEventListener('hashchange', () => {
    const fresh = new URLSearchParams(location.hash.slice(1));
    if (fresh.toString() === new URLSearchParams([...wanted]).toString()) return;
    wanted.clear();
    for (const [name, value] of fresh) wanted.set(name, value);
    show();
  });
  show();
})();
