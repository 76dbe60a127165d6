// Where the page is served, and the style nonce of this load.

/** The path below which everything is served, with a slash at both ends. */
export const basePath = new URL(document.baseURI).pathname;

/** Returns the absolute address of a path relative to the base. */
export function address(path: string): string {
  return new URL(path, document.baseURI).href;
}

export function socketAddress(path: string): string {
  return address(path).replace(/^http/, "ws");
}

const nonce = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? "";

/** Stamps the nonce on each style element that a library creates: the policy lets no other one pass. */
export function stampStyles(): void {
  const create = document.createElement.bind(document);
  document.createElement = ((name: string, options?: ElementCreationOptions): HTMLElement => {
    const element = create(name, options);
    if (element instanceof HTMLStyleElement) element.nonce = nonce;
    return element;
  }) as typeof document.createElement;
}
