// Ranks entries of the palette: every word of the query must occur, in the order of how well it does.

/** Returns a rank (lower is better), or undefined when the text does not match. */
export function rank(query: string, text: string): number | undefined {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const lower = text.toLowerCase();
  let sum = 0;
  for (const word of words) {
    const at = lower.indexOf(word);
    const score = at >= 0 ? wordRank(lower, at) : scattered(word, lower);
    if (score === undefined) return undefined;
    sum += score;
  }
  return sum + text.length / 1000;
}

function wordRank(lower: string, at: number): number {
  if (at === 0) return 0;
  return /[\s/_.:-]/.test(lower[at - 1] ?? "") ? 1 : 2;
}

function scattered(word: string, lower: string): number | undefined {
  let at = -1;
  let gaps = 0;
  for (const character of word) {
    const next = lower.indexOf(character, at + 1);
    if (next < 0) return undefined;
    if (at >= 0) gaps += next - at - 1;
    at = next;
  }
  return gaps > word.length * 4 ? undefined : 4 + gaps;
}
