// A directive for elements that code fills by itself: it runs once per key and cleans up when the element goes.

import { nothing } from "lit-html";
import { AsyncDirective, directive } from "lit-html/async-directive.js";
import type { ElementPart, PartInfo } from "lit-html/directive.js";

export type Cleanup = () => void;
export type Setup = (element: HTMLElement) => Cleanup | undefined | void;

class Mount extends AsyncDirective {
  private key: string | undefined;
  private cleanup: Cleanup | undefined | void;

  constructor(info: PartInfo) {
    super(info);
  }

  render(_key: string, _setup: Setup): unknown {
    return nothing;
  }

  override update(part: ElementPart, [key, setup]: [string, Setup]): unknown {
    if (key !== this.key) {
      this.cleanup?.();
      this.cleanup = undefined;
      this.key = key;
      // Sizes can be measured only when the element is in the document.
      queueMicrotask(() => {
        if (this.isConnected && this.key === key) this.cleanup = setup(part.element as HTMLElement);
      });
    }
    return nothing;
  }

  protected override disconnected(): void {
    this.cleanup?.();
    this.cleanup = undefined;
    this.key = undefined;
  }
}

export const mount = directive(Mount);
