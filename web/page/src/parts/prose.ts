// Markdown as nodes: results of turns and pads.

import { html, nothing, type TemplateResult } from "lit-html";
import { type Block, type Inline, parseMarkdown, safeTarget } from "../markdown.ts";
import { askFirst } from "./link.ts";

/** Markdown as nodes; raw HTML in it is shown as it is written. */
export function prose(source: string): TemplateResult {
  return html`<div class="prose">${parseMarkdown(source).map(block)}</div>`;
}

function block(value: Block): TemplateResult {
  switch (value.kind) {
    case "heading": return heading(value.level, value.parts);
    case "paragraph": return html`<p>${value.parts.map(inline)}</p>`;
    case "quote": return html`<blockquote>${value.parts.map(inline)}</blockquote>`;
    case "code": return html`<pre tabindex="0"><code>${value.text}</code></pre>`;
    case "rule": return html`<hr>`;
    case "table": return table(value.head, value.rows);
    case "list": return html`<ul class=${value.isOrdered ? "ordered" : ""}>${value.items.map((item) =>
      html`<li class="depth-${item.depth} ${item.isDone === undefined ? "" : "check"}">${item.isDone === undefined ? nothing : html`<span aria-hidden="true">${item.isDone ? "☑" : "☐"}</span> `}${item.parts.map(inline)}</li>`)}</ul>`;
  }
}

function heading(level: number, parts: Inline[]): TemplateResult {
  if (level === 1) return html`<h2>${parts.map(inline)}</h2>`;
  return level === 2 ? html`<h3>${parts.map(inline)}</h3>` : html`<h4>${parts.map(inline)}</h4>`;
}

function table(head: Inline[][], rows: Inline[][][]): TemplateResult {
  return html`<div class="scroll" tabindex="0"><table><thead><tr>${head.map((cell) => html`<th>${cell.map(inline)}</th>`)}</tr></thead>
    <tbody>${rows.map((row) => html`<tr>${row.map((cell) => html`<td>${cell.map(inline)}</td>`)}</tr>`)}</tbody></table></div>`;
}

function inline(value: Inline): unknown {
  switch (value.kind) {
    case "text": return value.text;
    case "code": return html`<code>${value.text}</code>`;
    case "strong": return html`<strong>${value.parts.map(inline)}</strong>`;
    case "emphasis": return html`<em>${value.parts.map(inline)}</em>`;
    case "link": {
      const target = safeTarget(value.target);
      if (!target) return value.text;
      // A link whose text is its own address has shown it already.
      const ask = value.text === value.target ? nothing : askFirst;
      return html`<a href=${target} title=${target} target="_blank" rel="noopener noreferrer" @click=${ask} @auxclick=${ask}>${value.text}</a>`;
    }
  }
}
