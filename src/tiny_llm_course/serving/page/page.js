// The page of `pdm run serve`: a chat as it streams, and the engine at work.

const words = JSON.parse(document.querySelector("#settings").textContent);
const get = (id) => document.getElementById(id);
const underway = new Set();

function made(tag, name, text) {
  const node = document.createElement(tag);
  if (name) node.className = name;
  if (text !== undefined) node.textContent = text;
  return node;
}

const percent = (logprob) => `${(100 * Math.exp(logprob)).toFixed(1)} %`;
const visible = (text) => text.replaceAll("\n", "\u21b5").replaceAll(" ", "\u2423");

// What a stream of events says, one after the other.
async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const parts = (rest + value).split("\n\n");
    rest = parts.pop();
    for (const part of parts) yield part.replace(/^data: /, "");
  }
}

function showToken(button, tokens) {
  document.querySelector(".chosen")?.classList.remove("chosen");
  button.classList.add("chosen");
  const box = get("token");
  box.replaceChildren();
  for (const one of tokens) {
    box.append(made("h3", "", `${visible(one.token)}  ${words.chance}: ${percent(one.logprob)}`));
    box.append(made("p", "note", words.others));
    const list = made("ul");
    for (const other of one.top_logprobs) {
      const row = made("li");
      const bar = made("meter");
      bar.value = Math.exp(other.logprob);
      bar.setAttribute("aria-label", words.chance);
      row.append(made("code", "", visible(other.token)), bar, made("span", "", percent(other.logprob)));
      list.append(row);
    }
    box.append(list);
  }
  box.hidden = false;
}

// A piece of text, with the tokens that it is made of: some have to wait for others.
// A line may not break inside a word, as it may beside a <button>.
function piece(text, tokens) {
  const button = made("span", "", text);
  button.setAttribute("role", "button");
  button.tabIndex = 0;
  if (!text.trim()) button.setAttribute("aria-label", visible(text));
  const likely = tokens.map((one) => Math.exp(one.logprob));
  button.style.setProperty("--doubt", 1 - Math.min(1, ...likely));
  button.addEventListener("click", () => showToken(button, tokens));
  button.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    showToken(button, tokens);
  });
  return button;
}

async function read(response, answer) {
  let tokens = [];
  for await (const event of events(response)) {
    if (event === "[DONE]") return;
    const chunk = JSON.parse(event);
    if (chunk.error) throw Error(chunk.error.message);
    const [choice] = chunk.choices;
    tokens.push(...(choice.logprobs?.content ?? []));
    if (choice.delta.content) {
      answer.append(piece(choice.delta.content, tokens));
      tokens = [];
    }
  }
}

async function ask(question) {
  const answer = made("p", "answer");
  get("answers").append(made("p", "asked", question), answer);
  const leaving = new AbortController();
  underway.add(leaving);
  get("stop").disabled = false;
  try {
    const response = await fetch("v1/chat/completions", {
      method: "POST",
      signal: leaving.signal,
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({
        model: words.model_name,
        messages: [{ role: "user", content: question }],
        stream: true,
        logprobs: true,
        top_logprobs: 5,
      }),
    });
    if (!response.ok) throw Error((await response.json()).error.message);
    await read(response, answer);
  } catch (error) {
    if (error.name === "AbortError") return;
    const isOurs = error.constructor === Error;
    answer.after(made("p", "answer failed", isOurs ? error.message : words.lost));
  } finally {
    underway.delete(leaving);
    get("stop").disabled = underway.size === 0;
  }
}

function cells(pages, shared) {
  const row = made("div", "cells");
  for (const page of pages) {
    row.append(made("span", shared.has(page) ? "cell shared" : "cell", page));
  }
  return row;
}

function draw(state) {
  const shared = new Set(state.shared);
  get("running").textContent = state.running.length;
  get("waiting").textContent = state.waiting.length;
  get("speed").textContent = state.running.length ? state.tokens_per_s : 0;
  get("pages").textContent = `${state.pages_in_use} (${state.pages_free} ${words.free})`;
  get("requests").replaceChildren(
    ...[...state.running, ...state.waiting].map((one) => {
      const box = made("div", "request");
      const told = `${one.prompt} ${words.of_prompt}, ${one.output} ${words.of_answer}`;
      box.append(made("div", "", told), cells(one.pages, shared));
      return box;
    }),
  );
  get("nobody").hidden = state.running.length + state.waiting.length > 0;
}

get("model").textContent = words.model_name;
get("form").addEventListener("submit", (event) => {
  event.preventDefault();
  const question = get("question").value.trim();
  if (question) ask(question);
});
get("four").addEventListener("click", () => {
  const question = get("question").value.trim();
  for (let number = 0; question && number < 4; number += 1) ask(question);
});
get("stop").addEventListener("click", () => underway.forEach((one) => one.abort()));
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") get("token").hidden = true;
  const sends = event.key === "Enter" && !event.shiftKey && event.target === get("question");
  if (sends) {
    event.preventDefault();
    get("form").requestSubmit();
  }
});
document.addEventListener("click", (event) => {
  if (!event.target.closest("#token, .answer [role=button]")) get("token").hidden = true;
});
new EventSource("events").addEventListener("message", (event) => draw(JSON.parse(event.data)));
