/** A guestbook: pages of entries with photos, and an administrator who may delete them. */

import { Engine, html, UploadedFile, ValidationError } from "@framework/core";
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

const ENTRIES_PER_PAGE = 5;

interface Entry {
  readonly id: string;
  readonly name: string;
  readonly text: string;
  readonly photo: string | undefined;
}

const Position = z.object({ page: z.coerce.number().int().min(1).catch(1) });

const Signature = z.object({
  name: z.string("Your name?").min(1, "Your name?"),
  text: z.string("A text?").min(1, "A text?"),
  photo: z.instanceof(UploadedFile)
    .refine(({ type }) => /^image\/(?:jpeg|png)$/.test(type), "JPEG or PNG?")
    .optional(),
});

/** Makes a guestbook without entries. */
export function guestbook(options: GuestbookOptions): Engine {
  const app = new Engine();
  const entries: Entry[] = [];
  guard(app, { headers: { "content-security-policy": "default-src 'self'" } });
  files(app, "/photos", options.photos);
  const session = sessions<{ admin: true }>(app, { secret: options.secret });
  const isAdmin = (): boolean => session().has("admin");

  app.route("GET /", showEntries, false, "entries");

  async function showEntries() {
    const { page } = await app.request().validate(Position, "query");
    const end = page * ENTRIES_PER_PAGE;
    const shown = entries.slice(end - ENTRIES_PER_PAGE, end);
    if (page > 1 && shown.length === 0) return app.notFound();
    const newer = page > 1 ? linkTo(page - 1, "Newer") : null;
    const older = end < entries.length ? linkTo(page + 1, "Older") : null;
    return layout([form(), shown.map(article), newer, older]);
  }

  app.route("POST /", async () => {
    const { photo, ...entry } = await app.request().validate(Signature);
    const id = crypto.randomUUID();
    const name = photo && `${id}.${photo.type.replace("image/", "")}`;
    await photo?.moveTo(`${options.photos}/${name}`);
    entries.unshift({ ...entry, id, photo: name });
    goBack("Thank you");
  }).addMiddleware({ error: showAgain });

  app.route("GET /login", () => layout(LOGIN));
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

  function goBack(notice: string, path = "/") {
    session().flash("notice", notice);
    app.redirect(path);
  }

  function showAgain(error: unknown) {
    if (error instanceof ValidationError) return layout(form(error.fields));
  }

  function layout(content: unknown) {
    // After the logout, the back button must not show the page again.
    if (isAdmin()) app.response().cache(false);
    const notice = session().flash("notice");
    return html`<!DOCTYPE html>
      <title>Guestbook</title>
      <h1>Guestbook</h1>
      ${notice && html`<output>${notice}</output>`}
      ${content}
      ${isAdmin() ? LOGOUT : html`<a href="/login">Log in</a>`}`;
  }

  function linkTo(page: number, text: string) {
    return html`<a href="${app.getUrl("entries", {}, { page })}">${text}</a>`;
  }

  /** The form for an entry: with what was typed, and what is wrong beside it. */
  function form(wrong: ValidationError["fields"] = {}) {
    const { name, text } = app.request().data;
    return html`
      <form method="post" enctype="multipart/form-data">
        <input name="name" value="${name}" required maxlength="50">
        <em>${wrong.name}</em>
        <textarea name="text" required>${text}</textarea>
        <em>${wrong.text}</em>
        <input type="file" name="photo">
        <em>${wrong.photo}</em>
        <button>Sign</button>
      </form>
    `;
  }

  function article({ id, name, text, photo }: Entry) {
    return html`
      <article>
        <h2>${name}</h2>
        <p>${text}</p>
        ${photo && html`<img src="/photos/${photo}" alt="">`}
        ${isAdmin() ? buttonTo(`/admin/delete/${id}`, "Delete") : null}
      </article>
    `;
  }

  return app;
}

const LOGIN = html`
  <form method="post">
    <input type="password" name="password" required autofocus>
    <button>Log in</button>
  </form>
`;

const buttonTo = (action: string, text: string) =>
  html`<form method="post" action="${action}"><button>${text}</button></form>`;

const LOGOUT = buttonTo("/admin/logout", "Log out");
