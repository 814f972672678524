/**
 * The public surface is what DESIGN 4 and 10 say: a name that comes or goes is a decision, made in the tables below
 * and told in the changelog.
 */

import { assertEquals } from "@std/assert";

/** By module: its types, and the public members of what else it exports. */
const SURFACE: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "mod.ts": {
    types: `
      BodyContent CallbackForm Class Controller CookieOptions Cookies Data Fetch Fields
      Files Filter InstanceOf JsonData Mapped MaybePromise Method
      MethodParameters Middleware MiddlewareResult Mountable Nested Original
      OriginalMethod Registered ResourceAction RouteArguments RouteCallback
      RouteParameters RouteResult SchemaOutput SchemaResult Server Taking
      UrlParameters UrlQuery ValidationSource VariableValue`,
    "class Framework": `
      after app before clear configure defer delete error etag fetch get getUrl group halt has init
      json jsonp lastModified map mount notFound original patch path post put redirect register
      render request response route router send set start stop view`,
    "class Engine": `
      after app before clear configure fetch get has init map original path register set start`,
    "interface Engine": `
      defer delete error etag getUrl group halt json jsonp lastModified mount notFound patch post
      put redirect render request response route router send stop view`,
    "interface ConnectionInfo": "remoteAddr",
    "interface Variables": "",
    "interface Settings": `
      framework.base_url framework.body_limit framework.body_timeout framework.case_sensitive
      framework.debug framework.editor framework.error_format framework.handle_errors
      framework.hosts framework.log_errors framework.method_not_allowed framework.method_override
      framework.shutdown_timeout framework.trust_proxy framework.views.extension
      framework.views.path framework.wait_timeout`,
    "interface StartOptions": `
      cert hostname key onListen onShutdown path port signal signals`,
    "class Router": `
      check delete get getUrl group mount patch post put resource route routes`,
    "class Route": `
      addMiddleware alias bodyLimit methods params pattern regex splat streamed`,
    "interface DeclareRoute": "",
    "interface MiddlewareHooks": "after before error",
    "interface ResourceOptions": "as only",
    "class HttpRequest": `
      accept accepts acceptsLanguages ajax base cookies data dataAll elapsed files getBody getHeader host id
      ip json length method origin proxy_ip query queryAll raw referrer route scheme secure signal
      type upgrade url user_agent validate`,
    "interface NestedRecord": "",
    "class UploadedFile": "moveTo",
    "class HttpResponse":
      "attachment body cache clear clearBody cookie events file header length sent status write",
    "interface ServerSentEvent": "comment data event id retry",
    "function html": "",
    "class Markup": "",
    "function markup": "",
    "class View": "clear exists fetch get has set",
    "interface Schema": "~standard",
    "interface SchemaIssue": "message path",
    "class HttpError": "headers name status",
    "class ValidationError": "fields issues name",
    "interface ValidationIssue": "message path",
    "interface HttpErrorOptions": "headers",
  },
  "src/cors/mod.ts": {
    "function cors": "",
    "interface CorsOptions":
      "credentials expose headers maxAge methods origins path",
  },
  "src/create/mod.ts": {
    "function create": "",
  },
  "src/files/mod.ts": {
    "function files": "",
    "interface FilesOptions": "cacheControl index",
  },
  "src/guard/mod.ts": {
    types: "TrustsOrigin",
    "function guard": "",
    "interface GuardOptions": "headers nonce trusted",
  },
  "src/limit/mod.ts": {
    "function limit": "",
    "interface LimitCount": "count resets",
    "interface LimitOptions": "key requests seconds store",
    "interface LimitStore": "add",
  },
  "src/log/mod.ts": {
    "function log": "",
    "interface LogOptions": "secrets write",
    "interface LogRecord":
      "bytes id ip method milliseconds route status time url",
  },
  "src/sessions/mod.ts": {
    "class Session": "clear delete flash get has renew set",
    "function sessions": "",
    "interface SessionOptions":
      "domain idle maxAge name path persistent sameSite secret secure store",
    "interface SessionStore": "read remove write",
  },
  "src/telemetry/mod.ts": {
    "function telemetry": "",
  },
  "src/testing/mod.ts": {
    types: "FieldInput",
    "interface Door": "fetch",
    "class Page": "attributes click form json path response status text texts",
    "class Visitor": "cookies open visit",
    "class Form": "fill names submit",
    "function assertIsolated": "",
    "interface IsolationOptions": "ignore rounds",
    "function settled": "",
    "interface VisitOptions": "json",
    "interface VisitorOptions": "headers origin",
  },
};

interface Exported {
  readonly name: string;
  readonly declarations: readonly {
    readonly kind: string;
    /** `private` for what is not exported, and only named by something that is. */
    readonly declarationKind: string;
    readonly def?: Definition;
  }[];
}

interface Definition {
  readonly properties?: readonly Member[];
  readonly methods?: readonly Member[];
}

interface Member {
  readonly name: string;
  readonly accessibility?: string;
  readonly params?: readonly Parameter[];
}

interface Parameter {
  readonly name: string;
  readonly optional: boolean;
}

for (const [module, expected] of Object.entries(SURFACE)) {
  Deno.test(`\`${module}\` exports exactly the frozen names and members`, async () => {
    const wanted = Object.entries(expected).map(([name, text]) => {
      return [name, text.trim().split(/\s+/).join(" ")];
    });
    assertEquals(await surface(module), Object.fromEntries(wanted));
  });
}

/** The parameters of methods, as an editor and the documentation show them. */
const PARAMETERS: Readonly<Record<string, string>> = {
  error: "error",
  etag: "id, type?",
  getUrl: "alias, params?, query?",
  group: "prefix, callback, middleware?",
  halt: "code?, message?",
  json: "data, code?, encode?, charset?, option?",
  jsonp: "data, param?, code?, encode?, charset?, option?",
  lastModified: "time",
  mount: "prefix, app",
  redirect: "url, code?",
  render: "file, data?, key?",
  stop: "code?",
};

Deno.test("`deno doc` names the parameters of each method, and which may be left out", async () => {
  const symbols = await symbolsOf("mod.ts");
  const engine = symbols.find(({ name }) => name === "Engine")!;
  const methods = engine.declarations.flatMap(({ def }) => def?.methods ?? []);
  const listed = (params: readonly Parameter[] = []): string =>
    params.map((each) => `${each.name}${each.optional ? "?" : ""}`).join(", ");
  const shown = methods.filter(({ name }) => name in PARAMETERS)
    .map(({ name, params }) => [name, listed(params)]);
  assertEquals(Object.fromEntries(shown), PARAMETERS);
});

/** What a module exports, read from its documentation, in the form of the table. */
async function surface(module: string): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  const types: string[] = [];
  for (const { name, declarations } of await symbolsOf(module)) {
    for (const { kind, declarationKind, def } of declarations) {
      if (declarationKind !== "export") continue;
      if (kind === "typeAlias") types.push(name);
      else found[`${kind} ${name}`] = members(def);
    }
  }
  if (types.length > 0) found.types = types.sort().join(" ");
  return found;
}

/** The symbols in the documentation of a module. */
async function symbolsOf(module: string): Promise<Exported[]> {
  const flags = ["-q", "--json", "--no-lock"];
  const imports = "--import-map=compat/import_map.json";
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["doc", ...flags, imports, module],
    cwd: new URL("../../", import.meta.url),
  }).output();
  const { nodes } = JSON.parse(new TextDecoder().decode(stdout));
  return Object.values<{ symbols: Exported[] }>(nodes).flatMap((
    { symbols },
  ) => symbols);
}

function members({ properties = [], methods = [] }: Definition = {}): string {
  const open = [...properties, ...methods].filter(({ accessibility }) =>
    accessibility !== "private"
  );
  return [...new Set(open.map(({ name }) => name))].sort().join(" ");
}
