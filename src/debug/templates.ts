/** Owns templates under debug: each render reads them anew, is timed, and reports undefined names. */

import { type Template, Templates } from "../view/templates.ts";
import { noteRender } from "./timing.ts";
import { reporting } from "./undefined_names.ts";

class DebugTemplates extends Templates {
  readonly #reported = new Set<string>();

  override async render(
    name: string,
    locals: Record<string, unknown>,
  ): Promise<string> {
    this.forget();
    const began = performance.now();
    try {
      return await super.render(name, locals);
    } finally {
      noteRender(String(name), began);
    }
  }

  protected override compile(source: string, path: string): Template {
    return reporting(super.compile(source, path), this.#reported);
  }
}

export { DebugTemplates as Templates };
