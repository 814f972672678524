/** The request as handlers see it, on both forms of an application. */

import {
  assertEquals,
  assertInstanceOf,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { UploadedFile } from "../src/request/upload.ts";
import { type App, onBothForms, visit } from "./forms.ts";

/** Requests a path with a body of some type. */
function send(
  app: App,
  path: string,
  body: BodyInit,
  type?: string,
  method = "POST",
) {
  const headers: HeadersInit = type === undefined
    ? {}
    : { "content-type": type };
  return visit(app, path, { method, body, headers });
}

onBothForms("`request()` outside a request is an error that says so", (app) => {
  assertThrows(() => app.request(), Error, "request");
});

onBothForms(
  "`request().url` keeps the query and stays encoded",
  async (app) => {
    app.route("/caf%C3%A9/@name", () => app.request().url);
    const response = await visit(app, "/caf%C3%A9/a%20b?q=%20c");
    assertEquals(await response.text(), "/caf%C3%A9/a%20b?q=%20c");
  },
);

onBothForms(
  "`request().base` is the base that was set, and `url` has it in front",
  async (app) => {
    app.set("framework.base_url", "/blog");
    app.route(
      "/post",
      () => ({ base: app.request().base, url: app.request().url }),
    );
    const response = await visit(app, "/blog/post?a=1");
    assertEquals(await response.json(), {
      base: "/blog",
      url: "/blog/post?a=1",
    });
  },
);

onBothForms("`request().query` reads as array and as object", async (app) => {
  app.route("/", () => [app.request().query["id"], app.request().query.id]);
  assertEquals(await (await visit(app, "/?id=7")).json(), ["7", "7"]);
});

onBothForms(
  "`request().data` holds form and JSON members on every method",
  async (app) => {
    app.route(
      "/",
      () => ({ method: app.request().method, title: app.request().data.title }),
    );
    const form = "application/x-www-form-urlencoded";
    for (const method of ["POST", "PUT", "PATCH", "DELETE"]) {
      const asForm = await send(app, "/", "title=A+b", form, method);
      assertEquals(await asForm.json(), { method, title: "A b" });
      const asJson = await send(
        app,
        "/",
        '{"title":"A b"}',
        "application/json",
        method,
      );
      assertEquals(await asJson.json(), { method, title: "A b" });
    }
  },
);

onBothForms(
  "`request().getBody()` returns the body for PUT, again after awaits",
  async (app) => {
    app.route("PUT /", async () => {
      const before = app.request().getBody();
      await Promise.resolve();
      return [before, app.request().getBody()];
    });
    const response = await send(app, "/", "raw text", "text/plain", "PUT");
    assertEquals(await response.json(), ["raw text", "raw text"]);
  },
);

onBothForms(
  "`request().raw` can be read by code made for the web",
  async (app) => {
    app.route("POST /", async () => {
      const { title } = app.request().data;
      return [title, await app.request().raw.json()];
    });
    const response = await send(app, "/", '{"title":"A"}', "application/json");
    assertEquals(await response.json(), ["A", { title: "A" }]);
  },
);

onBothForms("`request().files` holds uploads", async (app) => {
  app.route("POST /", async () => {
    const { photo } = app.request().files;
    assertInstanceOf(photo, UploadedFile);
    return [
      app.request().data.title,
      photo.name,
      photo.size,
      await photo.text(),
    ];
  });
  const form = new FormData();
  form.append("title", "A");
  form.append("photo", new Blob(["pixels"]), "a.png");
  const response = await send(app, "/", form);
  assertEquals(await response.json(), ["A", "a.png", 6, "pixels"]);
});

onBothForms("a malformed body is a 400 only for who reads it", async (app) => {
  app.route("POST /read", () => String(app.request().data.a));
  app.route("POST /ignore", () => app.request().getBody());
  const table: [string, string, string][] = [
    ["[1,]", "application/json", "Unexpected token"],
    ["cut", "multipart/form-data; boundary=X", "closing boundary is missing"],
    ["cut", "multipart/form-data", "no boundary"],
  ];
  for (const [body, type, message] of table) {
    const refused = await send(app, "/read", body, type);
    assertEquals(refused.status, 400, type);
    assertStringIncludes(await refused.text(), message, type);
    assertEquals(await (await send(app, "/ignore", body, type)).text(), body);
  }
});

onBothForms(
  "a body above `framework.body_limit` is a 413 before any route runs",
  async (app) => {
    let ran = false;
    app.set("framework.body_limit", 10);
    app.route("POST /", () => {
      ran = true;
    });
    assertEquals((await send(app, "/", "x".repeat(11))).status, 413);
    assertEquals(ran, false);
    assertEquals((await send(app, "/", "x".repeat(10))).status, 200);
  },
);

onBothForms(
  "an over-long query is a 400, a malformed cookie is none",
  async (app) => {
    app.route("/query", () => Object.keys(app.request().query));
    app.route("/cookies", () => app.request().cookies);
    assertEquals(
      (await visit(app, `/query?${"a&".repeat(1_001)}`)).status,
      400,
    );
    const response = await visit(app, "/cookies", {
      headers: { cookie: "=x; a=%zz; b" },
    });
    assertEquals([response.status, await response.json()], [200, { a: "%zz" }]);
  },
);

onBothForms(
  "`ip`, `scheme` and `secure` believe a proxy only under `trust_proxy`",
  async (app) => {
    app.route(
      "/",
      () => [app.request().ip, app.request().scheme, app.request().secure],
    );
    const headers = {
      "x-forwarded-for": "10.0.0.1, 203.0.113.5",
      "x-forwarded-proto": "https",
    };
    const remoteAddr: Deno.NetAddr = {
      transport: "tcp",
      hostname: "192.0.2.9",
      port: 1,
    };
    const ask = async () => {
      const request = new Request("http://localhost/", { headers });
      return await (await app.fetch(
        request,
        { remoteAddr } as Deno.ServeHandlerInfo,
      )).json();
    };
    assertEquals(await ask(), ["192.0.2.9", "http", false]);
    app.set("framework.trust_proxy", true);
    assertEquals(await ask(), ["203.0.113.5", "https", true]);
  },
);

onBothForms(
  "overlapping requests read their own data after awaits",
  async (app) => {
    app.route("POST /", async () => {
      await new Promise((resolve) =>
        setTimeout(resolve, Number(app.request().query.wait))
      );
      return [
        app.request().query.id,
        app.request().data.id,
        app.request().cookies.id,
      ];
    });
    const responses = await Promise.all([3, 2, 1].map(async (id) => {
      const response = await visit(app, `/?id=${id}&wait=${id}`, {
        method: "POST",
        body: `{"id":"${id}"}`,
        headers: { "content-type": "application/json", cookie: `id=${id}` },
      });
      return await response.json();
    }));
    assertEquals(responses, [["3", "3", "3"], ["2", "2", "2"], [
      "1",
      "1",
      "1",
    ]]);
  },
);

onBothForms(
  "a client that breaks off its body does not reach a route",
  async (app) => {
    let ran = false;
    app.route("POST /", () => {
      ran = true;
    });
    const broken = new ReadableStream({
      pull(controller) {
        controller.enqueue(new Uint8Array(3));
        controller.error(new Error("connection lost"));
      },
    });
    assertEquals(
      (await visit(app, "/", { method: "POST", body: broken })).status,
      400,
    );
    assertEquals(ran, false);
  },
);

onBothForms("`streamed()` leaves the body to the callback", async (app) => {
  app.set("framework.body_limit", 3);
  app.route("PUT /@name", async (_name: string) => {
    return await new Response(app.request().raw.body).text();
  }).streamed();
  const response = await visit(app, "/x", { method: "PUT", body: "too long" });
  assertEquals([response.status, await response.text()], [200, "too long"]);
});

onBothForms("`data` throws where the body is left unread", async (app) => {
  app.route("PUT /", () => app.request().data).streamed();
  app.map("error", (error: Error) => error.message);
  const response = await visit(app, "/", { method: "PUT", body: "a=1" });
  assertEquals(response.status, 500);
  assertStringIncludes(await response.text(), "stream");
});

onBothForms(
  "`request().length` counts a body that came without it",
  async (app) => {
    app.route("POST /", () => `${app.request().length}`);
    const response = await visit(app, "/", { method: "POST", body: "äb" });
    assertEquals(await response.text(), "3");
  },
);

onBothForms(
  "`framework.method_override` lets a form ask for PUT, PATCH and DELETE",
  async (app) => {
    app.set("framework.method_override", true);
    app.route("/@id", () => app.request().method);
    app.route(
      "DELETE /post/@id",
      (id: string) => `${app.request().method} ${id}`,
    );
    const form = "application/x-www-form-urlencoded";
    const table: [string, string][] = [
      ["_method=PUT", "PUT"],
      ["_method=patch", "PATCH"],
      ["_method=DELETE&_method=put", "PUT"],
      ["_method=GET", "POST"],
      ["_method=TRACE", "POST"],
      ["_method[]=PUT&_method[]=PATCH", "POST"],
      ["a=1", "POST"],
      ["", "POST"],
    ];
    for (const [body, method] of table) {
      const response = await send(app, "/1", body, form);
      assertEquals(await response.text(), method, body);
    }
    const asParts = new FormData();
    asParts.append("_method", "DELETE");
    const response = await send(app, "/post/7", asParts);
    assertEquals(await response.text(), "DELETE 7");
  },
);

onBothForms(
  "`framework.method_override` changes nothing but the forms of a POST",
  async (app) => {
    app.route("/", () => app.request().method);
    const form = "application/x-www-form-urlencoded";
    assertEquals(
      await (await send(app, "/", "_method=PUT", form)).text(),
      "POST",
    );
    app.set("framework.method_override", true);
    const table: [string, string, string][] = [
      ["_method=PUT", form, "PATCH"],
      ['{"_method":"PUT"}', "application/json", "POST"],
      ["_method=PUT", "text/plain", "POST"],
      ["cut", "multipart/form-data; boundary=X", "POST"],
    ];
    for (const [body, type, method] of table) {
      const response = await send(app, "/", body, type, method);
      assertEquals(await response.text(), method, body);
    }
    app.route("POST /stream", () => app.request().method).streamed();
    assertEquals(
      await (await send(app, "/stream", "_method=PUT", form)).text(),
      "POST",
    );
    assertEquals(await (await visit(app, "/?_method=PUT")).text(), "GET");
  },
);
