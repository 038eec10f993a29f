// What a page does by itself: times in the viewer's zone, charts, and, where it is wanted, staying up to date.
// Everything that it shows stands in the page; without it, the page says the same.
'use strict';

const $$ = (selector, within = document) => [...within.querySelectorAll(selector)];
const grouped = new Intl.NumberFormat('en');
const compact = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });
const clock = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' });
const day = new Intl.DateTimeFormat(undefined, { day: '2-digit', month: 'short' });
const dayOfYear = new Intl.DateTimeFormat(undefined, { day: '2-digit', month: 'short', year: 'numeric' });

// --- times ------------------------------------------------------------------------------------

function told(at) {
    const now = new Date();
    if (at.toDateString() === now.toDateString()) return clock.format(at);
    return `${(at.getFullYear() === now.getFullYear() ? day : dayOfYear).format(at)} ${clock.format(at)}`;
}

function localise(within) {
    for (const time of $$('time', within)) time.textContent = told(new Date(time.dateTime));
}

// What is typed as a time: of today, or a date, with or without a time of day. Anything else is a length, or goes as it is.
const TYPED = /^(?:(\d{4})-(\d\d)-(\d\d)(?:$|[T ]))?(?:(\d\d):(\d\d)(?::(\d\d)(?:\.\d+)?)?)?(Z?)$/;

// As it is said in the viewer's zone: `2026-11-22 08:00`.
function typed(utc) {
    const [, year, , , , minute] = TYPED.exec(utc) ?? [];
    if (!year) return utc;
    const at = new Date(`${minute ? utc.replace(' ', 'T').replace(/Z?$/, 'Z') : utc}`);
    if (isNaN(at)) return utc;
    const two = number => String(number).padStart(2, '0');
    const seconds = at.getSeconds() ? `:${two(at.getSeconds())}` : '';
    return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ${two(at.getHours())}:${two(at.getMinutes())}${seconds}`;
}

// What was typed in the viewer's zone, in UTC.
function sent(text) {
    const [, year, month, day, hour, minute, second, utc] = TYPED.exec(text.trim()) ?? [];
    if (utc || !(year || hour)) return text;
    const at = year ? new Date(year, month - 1, day) : new Date();
    at.setHours(hour ?? 0, minute ?? 0, second ?? 0, 0);
    return at.toISOString().replace(/\.\d+Z$/, 'Z');
}

for (const form of $$('.times')) {
    const inputs = $$('input:not([type="hidden"])', form).map(input => ({ input, utc: input.value, shown: typed(input.value) }));
    for (const { input, shown } of inputs) input.value = shown;
    form.querySelector('.zone').textContent = 'your time';
    form.onformdata = ({ formData }) => {
        for (const { input, utc, shown } of inputs) formData.set(input.name, input.value === shown ? utc : sent(input.value));
    };
}

// --- charts -----------------------------------------------------------------------------------

const percent = share => (share == null ? '–' : `${(share * 100).toFixed(1)} %`);
const whole = number => (number == null ? '–' : grouped.format(number));
const millis = number => (number == null ? '–' : `${number < 10 ? number.toFixed(2) : number.toFixed(0)} ms`);

// How each is drawn: what its values are, where its axis may end, and the line that they are held against.
const CHARTS = {
    tokens: { draw: 'bars', value: whole, tick: n => compact.format(n), widths: [0.86, 0.46] },
    outcomes: { draw: 'stack', value: whole, tick: n => compact.format(n), widths: [0.86] },
    oversized: { draw: 'lines', value: percent, tick: n => `${+(n * 100).toFixed(1)} %`, least: 0.1 },
    latency: { draw: 'lines', value: millis, tick: n => `${+n.toFixed(2)} ms`, least: 1 },
    accuracy: { draw: 'lines', value: percent, tick: n => `${+(n * 100).toFixed(0)} %`, least: 1, limit: 0.9, negative: true },
};

const colour = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const rows = (kind, plotted) => Object.entries(plotted[kind]);

// Bars that are stacked stand behind each other, the whole one at the back.
function stacked(values) {
    const sums = values.map(() => []);
    values[0]?.forEach((_, at) => values.reduce((sum, row, layer) => (sums[layer][at] = sum + row[at]), 0));
    return sums;
}

// A slot is drawn where its middle is, between its beginning and the next, as moments are drawn where they are.
function drawn(kind, plotted) {
    const values = rows(kind, plotted).map(([, row]) => row);
    return [plotted.at.map(at => at + plotted.step / 2), ...(CHARTS[kind].draw === 'stack' ? stacked(values).reverse() : values)];
}

// A line through a few points says little: they are bars.
const FEW = 6;
const isLine = (kind, plotted) =>
    CHARTS[kind].draw === 'lines' && rows(kind, plotted).some(([, row]) => row.filter(value => value != null).length > FEW);

// A line joins neighbours: a value that has none is a point.
function alone(plot, at) {
    const values = plot.data[at];
    return values.flatMap((value, slot) => (value != null && values[slot - 1] == null && values[slot + 1] == null ? [slot] : []));
}

function series(kind, figure, plotted) {
    const { draw, widths = [0.86, 0.6, 0.34] } = CHARTS[kind];
    const lines = isLine(kind, plotted);
    const keys = rows(kind, plotted).map(([key]) => key);
    if (draw === 'stack') keys.reverse();
    return keys.map((key, at) => {
        const own = getComputedStyle(figure.querySelector(`[data-series="${key}"]`)).getPropertyValue('--key').trim();
        if (!lines) {
            const width = widths[at] ?? widths[0];
            return { label: key, fill: own, width: 0, points: { show: false }, paths: uPlot.paths.bars({ size: [width, 60] }) };
        }
        return { label: key, stroke: own, width: 1.5, points: { show: false, size: 4, fill: own, filter: alone } };
    });
}

// What lies behind the figures: the line that they are held against, and the moments at which something happened.
function background(kind, plotted) {
    return plot => {
        const { left, top, width, height } = plot.bbox;
        const line = (x0, y0, x1, y1, stroke, dash) => {
            const { ctx } = plot;
            ctx.save();
            ctx.beginPath();
            ctx.strokeStyle = stroke;
            ctx.lineWidth = devicePixelRatio;
            ctx.setLineDash(dash.map(length => length * devicePixelRatio));
            ctx.moveTo(x0, y0);
            ctx.lineTo(x1, y1);
            ctx.stroke();
            ctx.restore();
        };
        const { limit } = CHARTS[kind];
        if (limit != null) {
            const y = plot.valToPos(limit, 'y', true);
            line(left, y, left + width, y, colour('--limit'), [4, 3]);
        }
        for (const mark of plotted.marks) {
            const x = plot.valToPos(mark.at, 'x', true);
            if (x < left || x > left + width) continue;
            line(x, top, x, top + height, colour(/alert|refused/.test(mark.kind) ? '--alarm' : '--mark'), [2, 2]);
        }
    };
}

function axes(kind) {
    const plain = { stroke: colour('--quiet'), grid: { stroke: colour('--line'), width: 1 }, font: '11px system-ui, sans-serif' };
    const time = [
        [31536000, '{YYYY}', null, null, null, null, null, null, 1],
        [2419200, '{MMM}', '\n{YYYY}', null, null, null, null, null, 1],
        [86400, '{D} {MMM}', '\n{YYYY}', null, null, null, null, null, 1],
        [60, '{HH}:{mm}', '\n{D} {MMM}', null, '\n{D} {MMM}', null, null, null, 1],
        [1, '{HH}:{mm}:{ss}', '\n{D} {MMM}', null, '\n{D} {MMM}', null, null, null, 1],
    ];
    return [
        { ...plain, size: 34, gap: 4, space: 70, values: time, grid: { show: false }, ticks: { show: false } },
        { ...plain, size: 54, gap: 4, space: 32, values: (_, ticks) => ticks.map(CHARTS[kind].tick), ticks: { show: false } },
    ];
}

function span(kind) {
    const { least = 0, negative } = CHARTS[kind];
    return (_, low, high) => {
        const top = Math.max(high ?? 0, least) || 1;
        return [negative && low < 0 ? low * 1.1 : 0, top === least ? top : top * 1.06];
    };
}

// The figures of one slot, beside the names of what they are of.
function read(figure, plotted, at) {
    const { value } = CHARTS[figure.dataset.chart];
    for (const [key, row] of rows(figure.dataset.chart, plotted)) {
        figure.querySelector(`[data-series="${key}"] .value`).textContent = at == null ? '' : value(row[at]);
    }
}

function spoken(figure, plotted, at) {
    const { value } = CHARTS[figure.dataset.chart];
    const figures = rows(figure.dataset.chart, plotted).map(([key, row]) => `${key} ${value(row[at])}`);
    return `${told(new Date(plotted.at[at] * 1e3))}: ${figures.join(', ')}`;
}

function chart(figure, plotted, first) {
    const kind = figure.dataset.chart;
    const place = figure.querySelector('.plot');
    if (!rows(kind, plotted).length) return null;
    const plot = new uPlot({
        width: place.clientWidth,
        height: place.clientHeight,
        padding: [10, 18, 0, 0],
        legend: { show: false },
        cursor: { sync: { key: 'time' }, y: false, points: { show: isLine(kind, plotted), size: 6 }, drag: { x: true, y: false, setScale: false } },
        scales: { x: { range: () => [plotted.at[0], plotted.at.at(-1) + plotted.step] }, y: { range: span(kind) } },
        axes: axes(kind),
        series: [{}, ...series(kind, figure, plotted)],
        hooks: {
            drawAxes: [background(kind, plotted)],
            setCursor: [plot => read(figure, plotted, plot.cursor.idx)],
            setSelect: [zoom],
            // Where moments are is known once it is drawn.
            ready: [plot => marks(plot, plotted, first)],
        },
    }, drawn(kind, plotted), place);
    // Where a screen reader is, what is drawn has a name and its slots can be walked.
    place.tabIndex = 0;
    place.setAttribute('role', 'slider');
    place.setAttribute('aria-label', `${figure.querySelector('h3').textContent}: arrow keys go through time`);
    place.setAttribute('aria-valuemin', 0);
    place.setAttribute('aria-valuemax', plotted.at.length - 1);
    const go = at => {
        place.setAttribute('aria-valuenow', at);
        place.setAttribute('aria-valuetext', spoken(figure, plotted, at));
    };
    const last = plotted.at.length - 1;
    // Drawn anew, it is walked on from where one was.
    go(document.activeElement === place ? Math.min(place.getAttribute('aria-valuenow'), last) : last);
    place.onkeydown = event => {
        const now = plot.cursor.idx ?? +place.getAttribute('aria-valuenow');
        const to = { ArrowLeft: now - 1, ArrowDown: now - 1, ArrowRight: now + 1, ArrowUp: now + 1, Home: 0, End: last }[event.key];
        if (to == null) return;
        event.preventDefault();
        const at = Math.min(Math.max(to, 0), last);
        plot.setCursor({ left: plot.valToPos(plot.data[0][at], 'x'), top: 10 });
        go(at);
    };
    place.onblur = () => plot.setCursor({ left: -10, top: -10 });
    return plot;
}

// What was drawn over becomes the time that the page is about.
function zoom(plot) {
    const { left, width } = plot.select;
    if (width < 4) return;
    const moment = at => new Date(plot.posToVal(at, 'x') * 1e3).toISOString().replace(/\.\d+Z$/, 'Z');
    const url = new URL(location.href);
    url.searchParams.set('since', moment(left));
    url.searchParams.set('until', moment(left + width));
    location.href = url;
}

// A mark can be pointed at on every chart, and reached by keys on the first.
function marks(plot, plotted, reachable) {
    // Beside what is drawn, not in it: what can be walked by arrow keys has nothing in it to be reached.
    const drawing = plot.root.closest('.drawing');
    drawing.querySelectorAll('.mark').forEach(mark => mark.remove());
    const { left, width } = plot.over.getBoundingClientRect();
    const offset = left - drawing.getBoundingClientRect().left;
    for (const mark of plotted.marks) {
        const x = plot.valToPos(mark.at, 'x');
        if (x < 0 || x > width) continue;
        const button = document.createElement('button');
        button.type = 'button';
        button.className = `mark ${mark.kind}`;
        button.style.left = `${x + offset}px`;
        const when = told(new Date(mark.at * 1e3));
        if (reachable) button.setAttribute('aria-label', `${when}: ${mark.title}. ${mark.lines.join('. ')}`);
        else [button.tabIndex, button.ariaHidden] = [-1, 'true'];
        button.onpointerenter = button.onfocus = () => tip.show(button, `${when} · ${mark.title}`, mark.lines);
        button.onpointerleave = button.onblur = () => tip.hide();
        drawing.append(button);
    }
}

const tip = {
    box: document.createElement('div'),
    show(beside, title, lines) {
        const line = (name, text) => Object.assign(document.createElement(name), { textContent: text });
        this.box.className = 'tip';
        this.box.replaceChildren(line('strong', title), ...lines.map(text => line('span', text)));
        this.box.hidden = false;
        document.body.append(this.box);
        const at = beside.getBoundingClientRect();
        const room = document.documentElement.clientWidth - this.box.offsetWidth - 12;
        this.box.style.left = `${Math.max(8, Math.min(at.left, room))}px`;
        this.box.style.top = `${at.bottom + scrollY + 6}px`;
    },
    hide() {
        this.box.hidden = true;
    },
};

let plots = [];

function draw() {
    const source = document.getElementById('plotted');
    for (const plot of plots) plot.destroy();
    plots = [];
    if (!source || !window.uPlot) return;
    const plotted = JSON.parse(source.textContent);
    plots = $$('.chart').map((figure, at) => chart(figure, plotted, at === 0)).filter(Boolean);
    window.portion = { plots, plotted };
    document.documentElement.dataset.drawn = plots.length;
}

// --- staying up to date -----------------------------------------------------------------------

const PAUSE = 10_000;

// What has changed is replaced; what has the focus, or is open, stays.
async function refresh() {
    const answer = await fetch(location.href, { headers: { accept: 'text/html' } });
    if (!answer.ok) throw new Error(answer.statusText);
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
    const [now, next] = [document.querySelector('main'), page.querySelector('main')];
    localise(next);
    const parts = [...now.children];
    const same = parts.length === next.children.length && parts.every((part, at) => part.className === next.children[at].className);
    if (!same && !now.contains(document.activeElement)) {
        now.replaceChildren(...next.childNodes);
    } else if (same) {
        [...next.children].forEach((part, at) => {
            const kept = parts[at].contains(document.activeElement) || parts[at].querySelector('details[open]');
            if (!kept) parts[at].replaceWith(part);
        });
    }
    draw();
}

// Figures that are old are not taken for new ones.
async function update(says) {
    try {
        await refresh();
        says.value = '';
    } catch {
        says.value ||= `no answer since ${clock.format(new Date())}`;
    }
}

function live() {
    const box = document.getElementById('live');
    if (!box || new URLSearchParams(location.search).get('until')) return;
    box.closest('label').hidden = false;
    const says = box.closest('label').querySelector('output');
    let timer;
    const set = () => {
        clearInterval(timer);
        says.value = '';
        if (box.checked) timer = setInterval(() => document.hidden || update(says), PAUSE);
        sessionStorage.setItem('live', box.checked ? '1' : '');
    };
    box.checked = sessionStorage.getItem('live') === '1';
    box.onchange = set;
    set();
}

// --- from the beginning -----------------------------------------------------------------------

localise(document);
draw();
live();

let width = innerWidth;
addEventListener('resize', () => {
    if (innerWidth !== width) requestAnimationFrame(draw);
    width = innerWidth;
});
matchMedia('(prefers-color-scheme: dark)').addEventListener('change', draw);
addEventListener('keydown', event => event.key === 'Escape' && (tip.hide(), $$('.custom[open]').forEach(menu => (menu.open = false))));
