/** Owns an OpenTelemetry collector for tests: it takes spans by OTLP over HTTP, in JSON. */

/** A span as a test reads it. */
export interface CollectedSpan {
  readonly name: string;
  readonly id: string;
  /** The id of the parent; "" without one. */
  readonly parent: string;
  readonly attributes: Readonly<Record<string, string>>;
  /** The messages of the recorded exceptions. */
  readonly exceptions: readonly string[];
  /** Whether its status is that of an error. */
  readonly isError: boolean;
}

/** What OTLP sends in JSON, as far as tests need it. */
interface Traces {
  readonly resourceSpans: readonly {
    readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[];
  }[];
}

interface OtlpSpan {
  readonly name: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly attributes: readonly Attribute[];
  readonly events: readonly {
    readonly name: string;
    readonly attributes: readonly Attribute[];
  }[];
  readonly status: { readonly code: number };
}

interface Attribute {
  readonly key: string;
  readonly value: { readonly stringValue?: string };
}

/** The code of a span that stands for an error (`STATUS_CODE_ERROR`). */
const ERROR = 2;

/** Collects the spans of processes that are started with its `env`. */
export class Collector implements AsyncDisposable {
  readonly spans: CollectedSpan[] = [];
  readonly #server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    (request) => this.#collect(request),
  );
  #changed = Promise.withResolvers<void>();

  /** The environment of a process whose spans come here. */
  get env(): Record<string, string> {
    return {
      OTEL_DENO: "true",
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${this.#server.addr.port}`,
      OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
      OTEL_BSP_SCHEDULE_DELAY: "50",
    };
  }

  /** Waits for the first span with a path. */
  async spanOf(path: string): Promise<CollectedSpan> {
    return await this.#find(({ attributes }) =>
      attributes["url.path"] === path
    );
  }

  /** Waits for the first span with a name. */
  async spanNamed(wanted: string): Promise<CollectedSpan> {
    return await this.#find(({ name }) => name === wanted);
  }

  async #find(
    isWanted: (span: CollectedSpan) => boolean,
  ): Promise<CollectedSpan> {
    for (;;) {
      const found = this.spans.find(isWanted);
      if (found !== undefined) return found;
      await this.#changed.promise;
    }
  }

  async #collect(request: Request): Promise<Response> {
    const body = await request.json();
    if (new URL(request.url).pathname === "/v1/traces") {
      for (const { scopeSpans } of (body as Traces).resourceSpans) {
        const spans = scopeSpans.flatMap(({ spans }) => spans);
        this.spans.push(...spans.map(readSpan));
      }
      this.#changed.resolve();
      this.#changed = Promise.withResolvers();
    }
    return Response.json({});
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.shutdown();
  }
}

function readSpan(span: OtlpSpan): CollectedSpan {
  const exceptions = span.events.filter(({ name }) => name === "exception");
  return {
    name: span.name,
    id: span.spanId,
    parent: span.parentSpanId,
    attributes: record(span.attributes),
    exceptions: exceptions.map(({ attributes }) =>
      record(attributes)["exception.message"] ?? ""
    ),
    isError: span.status.code === ERROR,
  };
}

/** Attributes by their keys; one that was sent twice, against the rule of OTLP, shows both values. */
function record(attributes: readonly Attribute[]): Record<string, string> {
  const values: Record<string, string> = {};
  for (const { key, value: { stringValue = "" } } of attributes) {
    const isRepeated = key in values;
    values[key] = isRepeated ? `${values[key]}, ${stringValue}` : stringValue;
  }
  return values;
}
