// Something that is fetched: its value, its error, and when to fetch again.

import { errorText } from "./api.ts";
import { invalidate } from "./store.ts";

export class Resource<T> {
  value: T | undefined;
  error: string | undefined;
  isLoading = false;
  private key: string | undefined;
  private mark = "";
  private generation = 0;

  constructor(private readonly fetcher: (key: string) => Promise<T>) {}

  /** Fetches when the key differs from the last one, or the mark does: then the old value is shown meanwhile. */
  use(key: string, mark = ""): T | undefined {
    if (key !== this.key) {
      this.key = key;
      this.value = undefined;
      this.error = undefined;
      this.mark = mark;
      void this.load();
    } else if (mark !== this.mark) {
      this.mark = mark;
      void this.load();
    }
    return this.value;
  }

  /** Fetches again, with the old value shown meanwhile. */
  async load(): Promise<void> {
    const key = this.key;
    if (key === undefined) return;
    const generation = ++this.generation;
    this.isLoading = true;
    try {
      const value = await this.fetcher(key);
      if (generation !== this.generation) return;
      this.value = value;
      this.error = undefined;
    } catch (error) {
      if (generation !== this.generation) return;
      this.error = errorText(error);
    }
    this.isLoading = false;
    invalidate();
  }

  set(value: T): void {
    this.generation++;
    this.value = value;
    this.error = undefined;
    this.isLoading = false;
    invalidate();
  }

  forget(): void {
    this.key = undefined;
  }
}
