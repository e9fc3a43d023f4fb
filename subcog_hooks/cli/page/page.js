"use strict";
const root = document.documentElement;
document.getElementById("theme").addEventListener("click", () => {
  const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  root.dataset.theme = (root.dataset.theme || system) === "dark" ? "light" : "dark";
});
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

const LABELS = {
  namespace: "Namespace",
  priority: "Priority, 0 to 100",
  standing: "Holds in every session: yes, no or empty",
  tags: "Tags, separated by commas",
  keywords: "Keywords, separated by commas",
  trigger: "Triggers, one a line",
  path: "Files, one glob a line",
  when: "Conditions, one a line",
  question: "Questions that it answers, one a line",
};
const ACTIONS = {
  waiting: [["Keep", "keep"], ["Drop", "drop"], ["Edit"]],
  active: [["Edit"], ["Forget", "forget"]],
};
ACTIONS.expired = ACTIONS["not used for a year"] = ACTIONS.active;
const OTHER_ACTIONS = [["Bring back", "restore"], ["Edit"]];

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
    section.addEventListener("keydown", (event) => this.escape(event));
    document.addEventListener("keydown", (event) => {
      if (event.key !== "/" || event.target.matches("input, select, textarea")) return;
      event.preventDefault();
      this.words.focus();
    });
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
      const acts = (ACTIONS[card.state] ?? OTHER_ACTIONS).map(([text, action]) =>
        button(text, () => (action ? this.change({ action, id: card.id }) : this.edit(card, element)), action === "keep" ? "main" : ""),
      );
      element.append(make("div", { className: `actions${card.state === "waiting" ? " always" : ""}` }, ...acts));
    }
    return element;
  }

  async edit(card, element) {
    const stored = await this.ask(`memories/${card.id}`);
    if (!stored) return;
    const text = make("textarea", { value: stored.content, rows: Math.min(16, stored.content.length / 80 + 4), required: true });
    const inputs = Object.entries(stored.fields).map(([name, value]) => {
      const isLong = ["trigger", "path", "when", "question"].includes(name);
      const input = make(isLong ? "textarea" : "input", { name, value });
      if (isLong) input.rows = value.split("\n").length;
      return [name, input];
    });
    const labels = inputs.map(([name, input]) => make("label", {}, LABELS[name] ?? name, input));
    const form = make("form", {}, make("label", { className: "all-width" }, "Text", text), ...labels);
    let isSent = false;
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      if (isSent) return; // The second click of two.
      isSent = true;
      const fields = Object.fromEntries(inputs.map(([name, input]) => [name, input.value]));
      await this.change({ action: "edit", id: card.id, content: text.value, fields, version: stored.version });
      isSent = false;
    });
    form.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
    });
    const close = () => this.redraw(card);
    const save = make("button", { className: "main", textContent: "Save" });
    form.append(make("div", { className: "all-width" }, save, " ", button("Cancel", close, "cancel")));
    element.replaceChildren(make("p", { className: "about text", }, ...wholeDates(`${card.about} ${card.id}`)), form);
    text.focus();
  }

  escape(event) {
    const cancel = event.target.closest(".card")?.querySelector("form .cancel");
    const details = event.target.closest(".card")?.querySelector("details[open]");
    if (event.key !== "Escape" || !(cancel || details)) return;
    event.preventDefault();
    if (cancel) cancel.click();
    else details.open = false;
    details?.firstElementChild.focus();
  }

  redraw(card) {
    const position = [...this.list.children].indexOf(card.element);
    const wasOpen = card.element?.querySelector("details[open], form");
    delete card.element;
    delete card.sought;
    this.draw(this.shown);
    if (wasOpen && card.element) card.element.querySelector("details").open = true;
    const next = card.element?.isConnected ? card.element : this.list.children[Math.min(position, this.list.children.length - 1)];
    (next?.querySelector("summary") ?? this.words).focus();
  }

  async change(request) {
    const answer = await this.ask("changes", request);
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

  async ask(path, request) {
    const options = request && { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(request) };
    let answer;
    try {
      answer = await (await fetch(path, options)).json();
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
