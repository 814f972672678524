/**
 * DESIGN 4, row `group`: the router of a group is typed by the prefix. Checking this file is the test; it stands alone,
 * so that an error here hides nothing else.
 */

import { assertEquals } from "@std/assert";
import { Engine, type Route } from "@framework/core";

/** Whether two types are the same. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends
  (<T>() => T extends B ? 1 : 2) ? true : false;

/** Compiles for a type that is true. */
function isTrue<_ extends true>(): void {}

Deno.test("the router of a group types the parameters of the prefix first", () => {
  const app = new Engine();
  app.group("/accounts/@account", (accounts) => {
    accounts.get("/items/@item(/@part)", (account, item, part) => {
      isTrue<Same<typeof account, string>>();
      isTrue<Same<typeof item, string>>();
      isTrue<Same<typeof part, string | null>>();
    });
    accounts.route("POST /items", (account) => account.trim());
    accounts.delete("/@id", (account, id, route) => {
      isTrue<Same<typeof route, Route>>();
      return account + id;
    }, true);
  });
  assertEquals(app.router().routes().length, 3);
});

Deno.test("groups in a group have the parameters of both prefixes, an optional one may be null", () => {
  const app = new Engine();
  app.group("(/@lang)/accounts", (accounts) => {
    accounts.group("/@account", (account) => {
      account.put("/items/@item", (lang, name, item) => {
        isTrue<Same<typeof lang, string | null>>();
        return name.trim() + item.trim();
      });
    });
  });
  const [route] = app.router().routes();
  assertEquals(route?.pattern, "(/@lang)/accounts/@account/items/@item");
});

Deno.test("a resource of a group gets the parameters of the prefix first", () => {
  const app = new Engine();
  class Items {
    show(account: string, id: string): string {
      return account + id;
    }
  }
  app.group("/accounts/@account", (accounts) => {
    accounts.resource("/items", Items, { only: ["show"] });
  });
  assertEquals(
    app.getUrl("items.show", { account: 1, id: 2 }),
    "/accounts/1/items/2",
  );
});

/** Never called: the compiler reads it. */
export function refused(app: Engine): void {
  app.group("/accounts/@account", (accounts) => {
    // @ts-expect-error -- there are two values
    accounts.get("/@item", (account: string, item: string, more: string) => {
      return account + item + more;
    });
    // @ts-expect-error -- a value is a string
    accounts.get("/@item", (account: string, item: number) => account + item);
    // @ts-expect-error -- an optional value can be null
    accounts.get("(/@item)", (account: string, item: string) => account + item);
  });
}
