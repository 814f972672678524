/**
 * Owns the two layers of everything that can be set: what is set inside a request is that request's alone,
 * everything else is the application's.
 */

/**
 * The state of one request: under a `Layered`, what the request has written to it; under a class whose methods are
 * callbacks, the request's instance. Null until there is something.
 */
export type Layer = Map<object, unknown>;

/** Tells which layer belongs to the current request. */
export interface LayerSource {
  /** The layer of the current request; null outside of requests, and before its first write. */
  readonly layer: Layer | null;
  /** The layer of the current request, made on first use; null outside of requests. */
  requestLayer(): Layer | null;
  /** Throws when the calling code may not change the application's state. */
  checkShared(): void;
}

/** A source without requests. */
const NO_REQUESTS: LayerSource = {
  layer: null,
  requestLayer: () => null,
  checkShared: () => {},
};

/** State in two layers: what a request writes lies over the application's, and hides it from that request alone. */
export class Layered<State> {
  /** The application's state. */
  readonly shared: State;
  readonly #create: () => State;
  readonly #source: LayerSource;

  /** `create` makes the application's state at once, and a request's when that first writes. */
  constructor(create: () => State, source: LayerSource = NO_REQUESTS) {
    this.#create = create;
    this.#source = source;
    this.shared = create();
  }

  /** The layer of the current request. */
  get layer(): Layer | null {
    return this.#source.layer;
  }

  /** What the current request has written, if anything. Pass its layer where that is known. */
  ofRequest(layer: Layer | null = this.layer): State | undefined {
    return layer?.get(this) as State | undefined;
  }

  /** The state to write to: inside a request its state, else the application's. */
  get writable(): State {
    const layer = this.#source.requestLayer();
    if (layer === null) {
      this.#source.checkShared();
      return this.shared;
    }
    const known = this.ofRequest(layer);
    if (known !== undefined) return known;
    const made = this.#create();
    layer.set(this, made);
    return made;
  }
}

/** Named values in two layers: reads fall through from the request's to the application's. */
export class Store<Value> extends Layered<Map<string, Value | undefined>> {
  constructor(source?: LayerSource) {
    super(() => new Map(), source);
  }

  /** The value for the current request, or for that of the given layer; undefined when there is none. */
  get(key: string, layer: Layer | null = this.layer): Value | undefined {
    const values = this.ofRequest(layer);
    return values?.has(key) ? values.get(key) : this.shared.get(key);
  }

  /** Whether there is a value that is neither undefined nor null. */
  has(key: string): boolean {
    return (this.get(key) ?? null) !== null;
  }

  /** Sets a value; inside a request for that request alone. */
  set(key: string, value: Value): void {
    this.writable.set(key, value);
  }

  /** Clears a value; inside a request the application's stays, hidden from this request. */
  delete(key: string): void {
    const { writable, shared } = this;
    if (writable === shared) shared.delete(key);
    else writable.set(key, undefined);
  }

  /** Clears every value; inside a request the application's stay, hidden from this request. */
  clear(): void {
    const { writable, shared } = this;
    if (writable === shared) return shared.clear();
    for (const key of this.all().keys()) writable.set(key, undefined);
  }

  /** The values that are not undefined, by name. */
  all(): Map<string, Value> {
    const all = new Map([...this.shared, ...this.ofRequest() ?? []]);
    for (const [key, value] of all) if (value === undefined) all.delete(key);
    return all as Map<string, Value>;
  }
}
