/**
 * Tests that the public surface is what it is meant to be: a name that comes or goes is a decision,
 * made in the table below and told in the changelog.
 */

import { assertEquals } from "@std/assert";

/** By module: what it exports, and the public members of each. */
const SURFACE: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "mod.ts": {
    "class Framework": `
      after app before clear configure defer delete error etag fetch get getUrl
      group
      halt has init json jsonp lastModified map mount notFound original patch path
      post put redirect register render request response route router send set
      start stop view`,
    "class Engine": `
      after app before clear configure fetch get has init map original path
      register set start`,
    "interface Engine": `
      defer delete error etag getUrl group halt json jsonp lastModified mount
      notFound patch post put redirect render request response route router send
      stop view`,
    "interface ConnectionInfo": "remoteAddr",
    "type MaybePromise": "",
    "type OriginalMethod": "",
    "type MethodParameters": "",
    "type VariableValue": "",
    "interface Variables": "",
    "type Fetch": "",
    "type Mountable": "",
    "type Original": "",
    "type CallbackForm": "",
    "type Filter": "",
    "type Mapped": "",
    "type Method": "",
    "type Class": "",
    "type InstanceOf": "",
    "type Registered": "",
    "interface Settings": `
      framework.base_url framework.body_limit framework.body_timeout
      framework.case_sensitive framework.coalesce framework.debug framework.editor framework.error_format framework.handle_errors framework.hosts framework.log_errors
      framework.method_not_allowed framework.method_override framework.shutdown_timeout
      framework.socket_limit
      framework.trust_proxy framework.views.extension framework.views.path
      framework.wait_timeout`,
    "type Server": "",
    "interface StartOptions": `
      cert hostname key onListen onShutdown path port signal signals`,
    "class Router": `
      check delete get getUrl group mount patch post put resource route routes`,
    "type UrlParameters": "",
    "type UrlQuery": "",
    "class Route": `
      addMiddleware alias bodyLimit methods middleware params pattern regex splat
      streamed takesStream`,
    "interface DeclareRoute": "",
    "type RouteCallback": "",
    "type JsonData": "",
    "type RouteArguments": "",
    "type RouteResult": "",
    "type Taking": "",
    "interface MiddlewareHooks": "after before error",
    "type Middleware": "",
    "type MiddlewareResult": "",
    "type RouteParameters": "",
    "type ResourceAction": "",
    "interface ResourceOptions": "as except only",
    "class HttpRequest": `
      accept accepts acceptsLanguages ajax base cookies data elapsed files getBody
      getBytes getHeader host id ip json length method origin proxy_ip query queryAll raw
      referrer route scheme secure signal type upgrade
      url user_agent validate`,
    "type Cookies": "",
    "type Data": "",
    "type Fields": "",
    "type Nested": "",
    "interface NestedRecord": "",
    "class UploadedFile": "moveTo",
    "type Files": "",
    "class HttpResponse":
      "attachment cache clear clearBody cookie events header length sent status write",
    "type BodyContent": "",
    "type CookieOptions": "",
    "interface EventsOptions": "heartbeat",
    "interface ServerSentEvent": "comment data event id retry",
    "function html": "",
    "class Markup": "",
    "function markup": "",
    "class View": "clear exists fetch get has set",
    "interface Schema": "~standard",
    "interface SchemaIssue": "message path",
    "type SchemaOutput": "",
    "type SchemaResult": "",
    "class HttpError": "headers name problem status",
    "class ValidationError": "fields issues name",
    "interface ValidationIssue": "message path",
    "type ValidationSource": "",
    "interface HttpErrorOptions": "headers problem",
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
    "function guard": "",
    "interface GuardOptions": "headers trusted",
    "type TrustsOrigin": "",
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
    "interface SessionOptions": "idle maxAge name path secret store",
    "interface SessionStore": "read remove write",
  },
  "src/telemetry/mod.ts": {
    "function telemetry": "",
  },
  "src/testing/mod.ts": {
    "interface Door": "fetch",
    "class Page": "attributes click form json path response status text texts",
    "class Visitor": "cookies open visit",
    "type FieldInput": "",
    "class Form": "fill names submit",
    "interface FormRequest": "action body method",
    "function assertIsolated": "",
    "interface IsolationOptions": "ignore rounds seed",
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
  readonly callSignatures?: readonly { readonly params: Parameter[] }[];
  readonly returnType?: { readonly repr: string };
}

interface Member {
  readonly name: string;
  readonly accessibility?: string;
  readonly params?: readonly Parameter[];
  readonly functionDef?: Definition;
}

interface Parameter {
  readonly name: string;
  readonly optional: boolean;
}

for (const [module, expected] of Object.entries(SURFACE)) {
  Deno.test(`\`${module}\` exports exactly the frozen names and members`, async () => {
    const wanted = Object.entries(expected).map(([name, members]) =>
      `${name}: ${members.trim().replaceAll(/\s+/g, " ")}`
    );
    assertEquals((await surface(module)).sort(), wanted.sort());
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
  const definitions = (symbol: string): Definition[] =>
    symbols.find(({ name }) => name === symbol)!.declarations
      .map(({ def }) => def ?? {});
  const shown = definitions("Engine").flatMap(({ methods = [] }) => methods)
    .filter(({ name }) => name in PARAMETERS)
    .map(({ name, params = [] }) => [name, listed(params)]);
  assertEquals(Object.fromEntries(shown), PARAMETERS);
  const [call] = definitions("DeclareRoute")[0]!.callSignatures!;
  assertEquals(listed(call!.params), "pattern, callback, passRoute?, alias?");
});

Deno.test("the public methods that return a promise are those that `track()` notes, or that `call` does", async () => {
  const found = (await symbolsOf("mod.ts")).flatMap(({ name, declarations }) =>
    declarations.filter(({ kind }) => kind === "class")
      .flatMap(({ def }) => def?.methods ?? [])
      .filter(({ functionDef }) => functionDef?.returnType?.repr === "Promise")
      .map((method) => `${name}.${method.name}`)
  );
  // The response waits for them only because each returns its promise through `track()` of `src/state/current.ts`.
  assertEquals(found.sort(), [
    "HttpRequest.validate",
    "Router.check",
    "UploadedFile.moveTo",
    "View.exists",
    "View.fetch",
  ]);
});

Deno.test("extensions have no public function that returns a promise to the code of a request", async () => {
  const { exports } = JSON.parse(await Deno.readTextFile("deno.json"));
  const isForRequests = (name: string): boolean =>
    ![".", "./testing", "./create"].includes(name);
  const modules = Object.entries<string>(exports)
    .filter(([name]) => isForRequests(name)).map(([, path]) => path);
  const found: string[] = [];
  for (const module of modules) {
    for (const { name, declarations } of await symbolsOf(module)) {
      for (const { def, kind } of declarations) {
        const functions = kind === "class"
          ? (def?.methods ?? []).map(({ functionDef }) => functionDef)
          : [def];
        if (functions.some((each) => each?.returnType?.repr === "Promise")) {
          found.push(`${module} ${name}`);
        }
      }
    }
  }
  // One that did would have to return it through the method `TRACK` of the request, as that of `limit` does: nothing
  // would wait for it otherwise.
  assertEquals(found, []);
});

/** Parameters as they are written. */
function listed(params: readonly Parameter[]): string {
  return params.map(({ name, optional }) => `${name}${optional ? "?" : ""}`)
    .join(", ");
}

Deno.test("`docs/settings.md` has each setting in its table", async () => {
  const page = await Deno.readTextFile("docs/settings.md");
  const rows = [...page.matchAll(/^\| `(framework\.[\w.]+)` +\|/gm)];
  assertEquals(
    rows.map(([, name]) => name).sort(),
    SURFACE["mod.ts"]!["interface Settings"]!.trim().split(/\s+/).sort(),
  );
});

/** What a module exports, read from its documentation: each with its kind and its members. */
async function surface(module: string): Promise<string[]> {
  return (await symbolsOf(module)).flatMap(({ name, declarations }) =>
    declarations.filter(({ declarationKind }) => declarationKind === "export")
      .map(({ kind, def }) =>
        `${kind === "typeAlias" ? "type" : kind} ${name}: ${members(def)}`
      )
  );
}

/** The symbols in the documentation of a module. */
async function symbolsOf(module: string): Promise<Exported[]> {
  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: [
      "doc",
      "-q",
      "--json",
      "--no-lock",
      "--import-map=compat/import_map.json",
      module,
    ],
    cwd: new URL("../", import.meta.url),
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
