/** A guestbook: pages of entries with photos, and an administrator who may delete them. */

import {
  Engine,
  html,
  type Markup,
  UploadedFile,
  ValidationError,
} from "@framework/core";
import { files } from "@framework/core/files";
import { guard } from "@framework/core/guard";
import { sessions } from "@framework/core/sessions";
import { z } from "npm:zod@^4.6.7";

/** What the guestbook is run with. */
export interface GuestbookOptions {
  /** The folder of the photos. */
  readonly photos: string;
  /** The administrator's password. */
  readonly password: string;
  /** Seals the sessions. */
  readonly secret: string;
}

interface Entry {
  readonly id: string;
  readonly name: string;
  readonly text: string;
  readonly photo: string | undefined;
}

const ENTRIES_PER_PAGE = 5;

/** The kinds of photos, by media type. */
const EXTENSIONS: Readonly<Record<string, string>> = {
  "image/jpeg": "jpg",
  "image/png": "png",
};

const Signature = z.object({
  name: z.string("Your name?").min(1, "Your name?"),
  text: z.string("A text?").min(1, "A text?"),
  photo: z.instanceof(UploadedFile)
    .refine(({ type }) => Object.hasOwn(EXTENSIONS, type), "JPEG or PNG?")
    .optional(),
});

const Position = z.object({ page: z.coerce.number().int().min(1).catch(1) });

/** Makes a guestbook without entries. */
export function guestbook(options: GuestbookOptions): Engine {
  const app = new Engine();
  const entries: Entry[] = [];
  guard(app, { headers: { "content-security-policy": "default-src 'self'" } });
  files(app, "/photos", options.photos);
  const session = sessions<{ admin: true }>(app, options);
  const isAdmin = (): boolean => session().has("admin");

  app.route("GET /", async () => {
    const query = await app.request().validate(Position, "query");
    const number = query.page;
    const start = (number - 1) * ENTRIES_PER_PAGE;
    const end = start + ENTRIES_PER_PAGE;
    const shown = entries.slice(start, end);
    if (number > 1 && shown.length === 0) return app.notFound();
    const older = entries.length > end ? linkTo(number + 1, "Older") : null;
    const newer = number > 1 ? linkTo(number - 1, "Newer") : null;
    const list = shown.map((entry) => entryOf(entry, isAdmin()));
    return page(html`${entryForm()}${list}${newer}${older}`);
  });

  app.route("POST /", async () => {
    const request = app.request();
    try {
      const { name, text, photo } = await request.validate(Signature);
      const stored = photo && await store(photo, options.photos);
      entries.unshift({ id: crypto.randomUUID(), name, text, photo: stored });
      return goBack("Thank you");
    } catch (error) {
      if (!(error instanceof ValidationError)) throw error;
      app.response().status(error.status);
      return page(entryForm(request.data, error.fields));
    }
  });

  app.route("GET /login", () => page(LOGIN_FORM));
  app.route("POST /login", () => {
    if (app.request().data.password !== options.password) {
      return goBack("Wrong password", "/login");
    }
    session().renew().set("admin", true);
    goBack("Welcome back");
  });

  app.group("/admin", (router) => {
    router.post("/delete/@id", (id) => {
      const index = entries.findIndex((entry) => entry.id === id);
      if (index < 0) return app.notFound();
      entries.splice(index, 1);
      goBack("Deleted");
    });
    router.post("/logout", () => {
      session().clear();
      goBack("Goodbye");
    });
  }, [isAdmin]);

  function goBack(notice: string, path = "/"): void {
    session().flash("notice", notice);
    app.redirect(path);
  }

  function page(content: Markup): Markup {
    // After the logout, the back button must not show the page again.
    if (isAdmin()) app.response().header("cache-control", "no-store");
    const notice = session().flash("notice");
    return html`<!DOCTYPE html>
      <title>Guestbook</title>
      <h1>Guestbook</h1>
      ${notice ? html`<p role="status">${notice}</p>` : null}
      ${content}
      ${isAdmin() ? LOGOUT_FORM : html`<a href="/login">Log in</a>`}`;
  }

  return app;
}

/** The form for an entry: with what was typed, and what is wrong beside it. */
function entryForm(
  typed: Record<string, unknown> = {},
  wrong: ValidationError["fields"] = {},
): Markup {
  return html`
    <form method="post" enctype="multipart/form-data">
      <input name="name" value="${typed.name}" required maxlength="50">
      <em>${wrong.name}</em>
      <textarea name="text" required>${typed.text}</textarea>
      <em>${wrong.text}</em>
      <input type="file" name="photo">
      <em>${wrong.photo}</em>
      <button>Sign</button>
    </form>
  `;
}

const LOGIN_FORM = html`
  <form method="post">
    <input type="password" name="password" required autofocus>
    <button>Log in</button>
  </form>
`;

const LOGOUT_FORM = html`
  <form method="post" action="/admin/logout"><button>Log out</button></form>
`;

function linkTo(page: number, text: string): Markup {
  return html`<a href="/?page=${page}">${text}</a>`;
}

function entryOf({ id, name, text, photo }: Entry, isAdmin: boolean): Markup {
  const action = `/admin/delete/${id}`;
  const form =
    html`<form method="post" action="${action}"><button>Delete</button></form>`;
  return html`
    <article>
      <h2>${name}</h2>
      <p>${text}</p>
      ${photo ? html`<img src="/photos/${photo}" alt="">` : null}
      ${isAdmin ? form : null}
    </article>
  `;
}

/** Stores a photo; returns its name. */
async function store(photo: UploadedFile, folder: string): Promise<string> {
  const name = `${crypto.randomUUID()}.${EXTENSIONS[photo.type]}`;
  await photo.moveTo(`${folder}/${name}`);
  return name;
}
