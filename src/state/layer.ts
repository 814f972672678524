/** Owns copy-on-write state: what an application has declared, until a request writes to it. */

/** What one request has of its own, by the state that it stands for. */
export type Layer = Map<object, unknown>;

/** Tells whose state the calling code reads and writes. */
export interface LayerOwner {
  /** The layer of the current request, once it has written something. */
  readonly layer: Layer | undefined;
  /** The layer to write to; undefined for the shared state. Throws when the caller may not change that. */
  layerToWrite(): Layer | undefined;
}

/** State that belongs to the application, and of which a request gets a copy with its first write. */
export class Layered<State extends object> {
  constructor(
    readonly owner: LayerOwner,
    readonly shared: State,
    readonly copy: (shared: State) => State,
  ) {}

  /** The state as a request with that layer sees it. */
  of(layer: Layer | undefined): State {
    return layer?.get(this) as State | undefined ?? this.shared;
  }

  /** The state as the calling code sees it. */
  get now(): State {
    return this.of(this.owner.layer);
  }

  /** The state to change. */
  writable(): State {
    const layer = this.owner.layerToWrite();
    if (layer === undefined) return this.shared;
    const known = layer.get(this) as State | undefined;
    if (known !== undefined) return known;
    const copy = this.copy(this.shared);
    layer.set(this, copy);
    return copy;
  }
}

/** Values by name. */
export type Values<Value> = Record<string, Value | undefined>;

/** Named values. The copy of a request is an empty record that inherits from the application's. */
export class Store<Value> extends Layered<Values<Value>> {
  constructor(owner: LayerOwner) {
    super(owner, Object.create(null), Object.create);
  }

  has(name: string): boolean {
    return (this.now[name] ?? null) !== null;
  }

  set(name: string, value: Value | undefined): void {
    this.writable()[name] = value;
  }

  /** Clears the named values; all of them without names. */
  clear(names: readonly string[] = Object.keys(this.all())): void {
    const values = this.writable();
    for (const name of names) values[name] = undefined;
  }

  /** The values that are set. */
  all(): Record<string, Value> {
    const all: Record<string, Value> = {};
    const values = this.now;
    for (const name in values) {
      const value = values[name];
      if (value !== undefined) all[name] = value;
    }
    return all;
  }
}
