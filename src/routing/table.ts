/**
 * Owns the routes of one layer, in the order of their declaration, and what matching one of them
 * gives. Which layers there are is the router's to know, and the scope's.
 */

import type { Alternative } from "./alternative.ts";
import type { Path } from "./path.ts";
import type { Pattern } from "./pattern.ts";
import type { RouteParameters } from "./middleware.ts";
import type { Route } from "./route.ts";
import { type Entry, type Query, Trie } from "./trie.ts";

/** A declared route with what it takes to match and to call it. */
export interface Declaration {
  readonly route: Route;
  readonly pattern: Pattern;
  readonly callback: (...params: unknown[]) => unknown;
  readonly passRoute: boolean;
}

/** One alternative of a declaration. */
interface Row extends Entry {
  readonly declaration: Declaration;
  readonly alternative: Alternative;
  /** The order from which the next route's alternatives count. */
  readonly next: number;
}

/** The routes of the application, or those of one request. */
export class RouteTable {
  /** What is declared, in order. */
  readonly declarations: Declaration[] = [];
  /** The patterns with an alias. */
  readonly aliases: Map<string, Pattern> = new Map();
  readonly #index = new Trie<Row>();
  #order = 0;

  /** Adds a route behind those that are there; throws when its alias leads elsewhere already. */
  add(declaration: Declaration): void {
    const { pattern, route: { alias } } = declaration;
    const known = this.aliases.get(alias)?.path ?? pattern.path;
    if (known !== pattern.path) {
      throw new Error(
        `Cannot make a route: the alias "${alias}" of "${pattern.path}" is taken by "${known}"`,
      );
    }
    if (alias !== "") this.aliases.set(alias, pattern);
    const { methods, alternatives } = pattern;
    const next = this.#order + alternatives.length;
    for (const alternative of alternatives) {
      const order = this.#order++;
      const row = { order, methods, declaration, alternative, next };
      this.#index.add(alternative.segments, row);
    }
    this.declarations.push(declaration);
  }

  /** The first match. */
  find(path: Path, query: Query): Match | undefined {
    const row = this.#index.find(path, query);
    return row && new Match(this, row, path, query);
  }
}

/** A route that matches a path, with what the path gives. */
export class Match {
  /** The route as declared. */
  readonly route: Route;
  /** The table in which it was found. */
  readonly table: RouteTable;
  /** The decoded path. */
  readonly path: string;
  /** The values of the named parameters in order; null where an optional part took no part. */
  readonly values: readonly (string | null)[];
  readonly #row: Row;
  readonly #query: Query;
  #params: RouteParameters | undefined;

  constructor(table: RouteTable, row: Row, path: Path, query: Query) {
    this.route = row.declaration.route;
    this.table = table;
    this.path = path.text;
    this.values = row.alternative.values(path, query.caseSensitive);
    this.#row = row;
    this.#query = query;
  }

  /** What finds the next match in the same table. */
  get rest(): Query {
    return { ...this.#query, from: this.#row.next };
  }

  /** The values by name. */
  get params(): RouteParameters {
    return this.#params ??= this.#named();
  }

  /** Invokes the callback. */
  call(): unknown {
    const { callback, passRoute } = this.#row.declaration;
    if (passRoute) return callback(...this.values, this.toRoute());
    return callback(...this.values);
  }

  /** A route object of its own for this request. */
  toRoute(): Route {
    const { caseSensitive } = this.#query;
    const splat = this.#row.alternative.splat(this.path, caseSensitive);
    return this.route.matched(this.#named(), splat, caseSensitive);
  }

  #named(): RouteParameters {
    const params: RouteParameters = Object.create(null);
    const { names } = this.#row.declaration.pattern;
    for (const [place, name] of names.entries()) {
      params[name] = this.values[place]!;
    }
    return params;
  }
}
