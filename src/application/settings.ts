/**
 * Owns every setting of the framework: its name, its type, its default and, in one line, its meaning. A
 * setting is an ordinary variable: `set`, `get`, `has` and `clear` work on it. One that is not set counts as
 * its default.
 */

import { wrongKind } from "../errors.ts";
import { isHost } from "../request/headers.ts";
import { didYouMean } from "../options.ts";

/**
 * The settings by name, with the type of each. Durations are seconds, sizes are bytes.
 *
 * Guide: [docs/reference.md](./docs/reference.md#settings)
 */
export interface Settings {
  /** The base path, stripped from paths and put before URLs. If it is a whole URL, redirects get its host. */
  "framework.base_url": string | null;
  /** Whether the literals of a pattern match case-sensitively. */
  "framework.case_sensitive": boolean;
  /** Whether errors go to `error`; when false, `fetch` rejects with them. */
  "framework.handle_errors": boolean;
  /** Whether the log has whole errors, also of the program's own requests, instead of a line for each. */
  "framework.log_errors": boolean;
  /** The folder that holds the view templates. */
  "framework.views.path": string;
  /** The extension that is added to a template's name when no file has the bare name. */
  "framework.views.extension": string;
  /**
   * Whether to help during development: error pages with code, live reload, warnings.
   * Shown to clients on this machine only.
   */
  "framework.debug": boolean;
  /** The largest request body, in bytes (413). */
  "framework.body_limit": number;
  /** Time limit for receiving a request body, in seconds (408); 0 for none. */
  "framework.body_timeout": number;
  /**
   * How many proxies are in front, `true` for one: their `X-Forwarded-*` and `X-Request-Id` decide `ip`, `scheme`,
   * `secure`, `host`, `origin`, `id` and what `framework.hosts` compares.
   */
  "framework.trust_proxy": boolean | number;
  /** Whether a path whose routes name only other methods is a 405 instead of a 404. */
  "framework.method_not_allowed": boolean;
  /** Whether the field `_method` of a POST form replaces its method with PUT, PATCH or DELETE. */
  "framework.method_override": boolean;
  /** How many seconds a response waits for calls of the framework that the handler did not await. */
  "framework.wait_timeout": number;
  /** How many seconds requests, uploads and deferred work get to finish when the server shuts down. */
  "framework.shutdown_timeout": number;
  /** The form of error pages: HTML, JSON, or with "auto" what the client prefers. */
  "framework.error_format": "auto" | "html" | "json";
  /** The link of error pages under debug that opens your editor; `{file}` and `{line}` are replaced. */
  "framework.editor": string;
  /** The hosts that the application serves, with a port or for all ports; others are refused (421). Null: any host. */
  "framework.hosts": readonly string[] | null;
}

/**
 * The types of an application's own variables by name, for `get()` and `set()`. An application adds its own:
 *
 *     declare module "@framework/core" {
 *       interface Variables {
 *         user: User;
 *       }
 *     }
 */
// deno-lint-ignore no-empty-interface
export interface Variables {}

/**
 * The names of settings, and of the variables that have a type.
 *
 * @internal
 */
export type KnownVariable = keyof Settings | keyof Variables & string;

/**
 * The name of a variable: any text but one that begins with `framework.` and is not a setting. The known names are
 * in the type, so that editors complete them.
 *
 * @internal
 */
export type VariableName<Key extends string = string> = Key extends
  `framework.${string}` ? keyof Settings
  : KnownVariable | (Key & Record<never, never>);

/**
 * The type of a variable: that of a setting or of a member of {@linkcode Variables}, or else the given one.
 *
 * @internal
 */
export type VariableType<Key extends string, Value = unknown> = Key extends
  keyof Settings ? Settings[Key]
  : Key extends keyof Variables ? Variables[Key]
  : Value;

/** The values that a variable of that name takes; null sets a setting back to its default. */
export type VariableValue<Key extends string> = Key extends keyof Settings
  ? Settings[Key] | null
  : VariableType<Key>;

/**
 * The values of a record for `set()`.
 *
 * @internal
 */
export type VariableValues<Values> =
  & { readonly [Key in KnownVariable]?: VariableValue<Key> }
  & {
    readonly [Key in keyof Values]: Key extends KnownVariable
      ? VariableValue<Key>
      : Key extends `framework.${string}` ? "there is no such setting"
      : unknown;
  };

/** The default of every setting. */
export const defaultSettings: Readonly<Settings> = Object.freeze({
  "framework.base_url": null,
  "framework.case_sensitive": false,
  "framework.handle_errors": true,
  "framework.log_errors": false,
  "framework.views.path": "./views",
  "framework.views.extension": ".php", // that of the specification; `.vto` is tried after it
  "framework.debug": false,
  "framework.body_limit": 8 * 1024 * 1024,
  "framework.body_timeout": 30,
  "framework.trust_proxy": false,
  "framework.method_not_allowed": false,
  "framework.method_override": false,
  "framework.wait_timeout": 10,
  "framework.shutdown_timeout": 10,
  "framework.error_format": "auto",
  "framework.editor": "vscode://file/{file}:{line}",
  "framework.hosts": null,
});

export function isSetting(name: string): name is keyof Settings {
  return Object.hasOwn(defaultSettings, name);
}

type Rule = readonly [rule: string, fits: (value: unknown) => boolean];

/** What settings take, by the type of their default. */
const BY_TYPE: Readonly<Record<string, Rule>> = {
  string: ["it must be a string", (value) => typeof value === "string"],
  boolean: ["it must be true or false", (value) => typeof value === "boolean"],
  number: [
    "it must be a number, at least 0",
    (value) => typeof value === "number" && value >= 0,
  ],
};

/** What other settings take. */
const RULES: Readonly<Partial<Record<keyof Settings, Rule>>> = {
  "framework.base_url": [
    'it must be a path such as "/shop" or a URL such as "https://example.com/shop", without query and hash',
    isBaseUrl,
  ],
  "framework.hosts": [
    'it must be a list of hosts such as "example.com" or "localhost:8000"',
    (value) => Array.isArray(value) && value.length > 0 && value.every(isHost),
  ],
  "framework.error_format": [
    'it must be "auto", "html" or "json"',
    (value) => value === "auto" || value === "html" || value === "json",
  ],
  "framework.trust_proxy": [
    "it must be true, false or a number of proxies",
    (value) =>
      typeof value === "boolean" ||
      Number.isInteger(value) && Number(value) >= 0,
  ],
};

/** Throws `TypeError` when a value does not fit the setting of that name; null is the default. */
export function checkSetting(key: string, value: unknown): void {
  if (!isSetting(key)) return checkUnknown(key);
  if (value === null || value === undefined) return;
  const [rule, fits] = RULES[key] ?? BY_TYPE[typeof defaultSettings[key]]!;
  if (!fits(value)) throw wrongKind(`set "${key}"`, rule, value);
}

/** Throws when a name is nearly, but not quite, the name of a setting. */
function checkUnknown(key: string): void {
  if (!key.startsWith("framework.")) return;
  const hint = didYouMean(key, Object.keys(defaultSettings));
  if (hint === "") return;
  throw new TypeError(`Cannot set "${key}": there is no such setting${hint}`);
}

/**
 * Whether a value is a path, or an http or https URL with a host. URLs would be made of other text, too, but wrong
 * ones: the parser takes `example.com:8000` for a scheme and skips slashes that are missing.
 */
function isBaseUrl(value: unknown): boolean {
  if (typeof value !== "string" || /[?#\\\s]/.test(value)) return false;
  if (/^https?:\/\/[^/@]+(?:\/|$)/i.test(value)) return URL.canParse(value);
  return !/^[^/]*:/.test(value); // in front of the first slash, it ends a scheme or a host
}
