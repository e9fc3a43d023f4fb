"use strict";
const PAGE_OF_CARDS = 100;
const make = (tag, fields = {}, ...children) => {
  const element = Object.assign(document.createElement(tag), fields);
  element.append(...children);
  return element;
};
const button = (text, act, className = "") => make("button", { type: "button", textContent: text, className, onclick: act });
const wholeDates = (text) =>
  text.split(/(\d{4}-\d\d-\d\d|(?<=Replaced by )\S+(?=\.))/).map((part, position) => (position % 2 ? make("time", { textContent: part }) : part));
const count = (number) => number.toLocaleString("en");

const FORGET = [["Forget", "forget"]];
const ACTIONS = {
  waiting: [["Keep", "keep"], ["Drop", "drop"]],
  active: FORGET,
  expired: FORGET,
  "not used for a year": FORGET,
};
const BRING_BACK = [["Bring back", "restore"]];

class Memories {
  constructor(section, { served, names, cards }) {
    Object.assign(this, { section, served });
    this.cards = cards.map((values) => Object.fromEntries(names.map((name, position) => [name, values[position]])));
    this.shown = PAGE_OF_CARDS;
    const changed = () => this.draw(PAGE_OF_CARDS);
    const field = (label, input) => make("label", {}, label, input);
    const pick = (name) => make("select", { name, onchange: changed });
    this.words = make("input", { type: "search", placeholder: "words, an id, a file", oninput: changed });
    this.picks = { state: pick("state"), project: pick("project"), namespace: pick("namespace") };
    this.order = pick("order");
    this.order.append(...["newest first", "oldest first", "most given first"].map((text) => make("option", { textContent: text })));
    const fields = Object.entries(this.picks).map(([name, select]) => field(name[0].toUpperCase() + name.slice(1), select));
    const bar = make("div", { className: "bar" }, field("Find", this.words), ...fields, field("Order", this.order));
    bar.setAttribute("role", "search");
    this.total = make("p", {});
    this.total.setAttribute("role", "status");
    this.list = make("ul");
    this.more = make("div", { className: "actions", id: "more" });
    this.message = make("div", { id: "message" });
    this.message.setAttribute("role", "status");
    section.append(bar, this.total, this.list, this.more, this.message);
    this.fillPicks();
    changed();
  }

  fillPicks() {
    for (const [name, select] of Object.entries(this.picks)) {
      const counts = new Map();
      for (const card of this.cards) counts.set(card[name], (counts.get(card[name]) ?? 0) + 1);
      const chosen = select.value;
      const names = [...counts].sort((a, b) => b[1] - a[1]).map(([value, number]) => [value, `${value} (${count(number)})`]);
      select.replaceChildren(...[["", "all"], ...names].map(([value, text]) => make("option", { value, textContent: text })));
      select.value = counts.has(chosen) ? chosen : "";
    }
  }

  draw(shown) {
    this.shown = shown;
    const words = this.words.value.toLowerCase().split(/\s+/).filter(Boolean);
    const picks = Object.entries(this.picks).filter(([, select]) => select.value);
    const matches = this.cards.filter((card) => {
      card.sought ??= [card.text, card.id, card.about, ...card.details.flat()].join("\n").toLowerCase();
      return words.every((word) => card.sought.includes(word)) && picks.every(([name, select]) => card[name] === select.value);
    });
    const newest = (a, b) => b.created - a.created;
    matches.sort([newest, (a, b) => newest(b, a), (a, b) => b.given - a.given || newest(a, b)][this.order.selectedIndex]);
    this.list.replaceChildren(...matches.slice(0, shown).map((card) => (card.element ??= this.cardElement(card))));
    this.list.classList.toggle("all-cards", shown === Infinity); // A browser needs 4 s to lay out 10,000.
    const all = count(this.cards.length);
    this.total.textContent = matches.length === this.cards.length ? `${all} memories` : `${count(matches.length)} of ${all} memories`;
    const left = matches.length - shown;
    const [next, rest] = [button("Show 100 more", () => this.draw(shown + 100)), button("Show all", () => this.draw(Infinity))];
    this.more.replaceChildren(...(left > 0 ? [next, rest] : []));
  }

  cardElement(card) {
    const state = make("span", { className: `state ${card.state}`, textContent: card.state });
    const about = make("span", { className: "about" }, ...(card.state === "active" ? [] : [state]), ...wholeDates(card.about));
    about.append(" ", make("code", { textContent: card.id }));
    const summary = make("summary", {}, make("span", { className: "preview", textContent: card.text }), about);
    const details = make("details", {}, summary);
    const fill = () => {
      if (details.children.length > 1) return;
      const rows = card.details.map(([name, value]) => [make("dt", { textContent: name }), make("dd", { textContent: value })]);
      details.append(make("p", { className: "text", textContent: card.text }));
      if (rows.length) details.append(make("dl", {}, ...rows.flat()));
    };
    details.addEventListener("click", fill); // Before it opens, so that nothing moves afterwards.
    details.addEventListener("toggle", fill);
    const element = make("li", { className: "card", id: `memory-${card.id}` }, details);
    if (this.served) {
      const acts = (ACTIONS[card.state] ?? BRING_BACK).map(([text, action]) =>
        button(text, () => this.change({ action, id: card.id }), action === "keep" ? "main" : ""),
      );
      element.append(make("div", { className: `actions${card.state === "waiting" ? " always" : ""}` }, ...acts));
    }
    return element;
  }

  redraw(card) {
    const wasOpen = card.element?.querySelector("details[open]");
    delete card.element;
    delete card.sought;
    this.draw(this.shown);
    if (wasOpen && card.element) card.element.querySelector("details").open = true;
  }

  async change(request) {
    const answer = await this.ask(request);
    if (!answer) return;
    for (const [position, value] of answer.figures.entries()) document.querySelectorAll(".figures dd")[position].textContent = value;
    for (const fields of answer.cards) {
      const card = this.cards.find(({ id }) => id === fields.id);
      if (!card) continue;
      const before = card.state;
      Object.assign(card, fields);
      this.fillPicks();
      this.redraw(card);
      if (!["forget", "drop"].includes(request.action)) continue;
      const status = before === "waiting" ? "pending" : "active";
      this.message.append(button("Undo", () => this.change({ action: "restore", id: card.id, status })));
    }
  }

  async ask(request) {
    const options = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(request) };
    let answer;
    try {
      answer = await (await fetch("changes", options)).json();
    } catch {
      answer = { error: "The page is no longer served. Run `subcog report --serve` again." };
    }
    this.message.className = answer.error ? "failed" : "";
    this.message.textContent = answer.error ?? answer.message ?? "";
    clearTimeout(this.timer);
    if (!answer.error) this.timer = setTimeout(() => this.message.replaceChildren(), 10_000);
    return answer.error ? null : answer;
  }
}
const data = document.getElementById("data");
if (data) new Memories(document.getElementById("memories"), JSON.parse(data.textContent));
