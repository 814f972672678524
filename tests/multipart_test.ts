/** Tests of {@linkcode parseMultipart}: multipart forms, well-formed, malformed and hostile. */

import {
  assertEquals,
  assertInstanceOf,
  assertStringIncludes,
  assertThrows,
} from "@std/assert";
import { HttpError, UploadedFile } from "@framework/core";
import { decode, parseForm } from "../src/request/body.ts";
import { parseMultipart } from "../src/request/multipart.ts";

const type = "multipart/form-data; boundary=X";
const encoder = new TextEncoder();

/** A part of a form: its name, its text, and a file name where it is a file. */
function part(name: string, content: string, filename?: string): string {
  const file = filename === undefined
    ? ""
    : `; filename="${filename}"\r\nContent-Type: text/plain`;
  return `--X\r\nContent-Disposition: form-data; name="${name}"${file}\r\n\r\n${content}\r\n`;
}

/** A form of one part with these parameters behind "form-data". */
function disposed(parameters: string): string {
  return `--X\r\nContent-Disposition: form-data${parameters}\r\n\r\n1\r\n--X--`;
}

function read(text: string, as = type) {
  return parseMultipart(encoder.encode(text), as);
}

function refusalOf(text: string, as?: string): HttpError {
  return assertThrows(() => read(text, as), HttpError);
}

async function contentOf(request: Request) {
  const sent = request.headers.get("content-type") ?? "";
  const bytes = await request.bytes();
  return {
    text: () => decode(bytes, sent),
    get data() {
      return parseForm(bytes, sent).data;
    },
    get files() {
      return parseForm(bytes, sent).files;
    },
  };
}

/** A form as JSON, a file in it by its name and size. */
function shown(form: unknown): string {
  return JSON.stringify(
    form,
    (_, value) =>
      value instanceof File ? `${value.name} (${value.size})` : value,
  );
}

/** A request with a form that the platform wrote. */
function requestOf(form: FormData): Request {
  return new Request("http://localhost/", { method: "PUT", body: form });
}

Deno.test("`parseMultipart()` tells text from files", async () => {
  const form = read(
    part("a[b]", "1") + part("photo", "pixels", "a.txt") + "--X--\r\n",
  );
  assertEquals(JSON.stringify(form.data), '{"a":{"b":"1"}}');
  const { photo } = form.files;
  assertInstanceOf(photo, UploadedFile);
  assertEquals([photo.name, photo.type, photo.size], [
    "a.txt",
    "text/plain",
    6,
  ]);
  assertEquals(await photo.text(), "pixels");
});

Deno.test("`parseMultipart()` keeps the bytes of a file", async () => {
  const bytes = Uint8Array.from({ length: 1_000 }, (_, index) => index % 256);
  const form = new FormData();
  form.append("file", new Blob([bytes]), "all.bin");
  const sent = new Response(form);
  const as = sent.headers.get("content-type")!;
  const { files } = parseMultipart(await sent.bytes(), as);
  assertInstanceOf(files.file, UploadedFile);
  assertEquals(await files.file.bytes(), bytes);
});

Deno.test("`parseMultipart()` gives a file without a Content-Type the type of bytes", () => {
  const { files } = read(disposed('; name="a"; filename="a"'));
  assertInstanceOf(files.a, UploadedFile);
  assertEquals(files.a.type, "application/octet-stream");
});

Deno.test("`parseMultipart()` makes a list of several files under one name", () => {
  const files = part("p[]", "1", "a") + part("p[]", "2", "b") +
    part("q", "3", "c") + part("q", "4", "d") + part("r[x]", "5", "e") +
    part("r", "6", "f") + part("s", "7", "g") + part("s[x]", "8", "h");
  assertEquals(
    shown(read(files + "--X--").files),
    '{"p":["a (1)","b (1)"],"q":["c (1)","d (1)"],' +
      '"r":{"0":"f (1)","x":"e (1)"},"s":{"0":"g (1)","x":"h (1)"}}',
  );
});

Deno.test("`parseMultipart()` keeps the last text under one name", () => {
  const form = read(part("a", "1") + part("a", "2") + "--X--");
  assertEquals(shown(form.data), '{"a":"2"}');
});

Deno.test("`parseMultipart()` passes over a file input that was left empty", () => {
  const form = read(part("a", "", "") + part("b", "", "b.txt") + "--X--");
  assertEquals(Object.keys(form.files), ["b"]);
});

Deno.test("`parseMultipart()` takes names of the language as plain data", () => {
  const form = read(
    part("__proto__", "1") + part("__proto__", "2", "a") + "--X--",
  );
  assertEquals([Object.keys(form.data), Object.keys(form.files)], [[
    "__proto__",
  ], ["__proto__"]]);
});

Deno.test("`parseMultipart()` reads names as browsers and other clients write them", () => {
  const table: [string, string][] = [
    ['; name="f"; filename="x; name=evil"', "f=x; name=evil"],
    ['; name="f"; filename="x\\"; name=evil"', 'f=x"; name=evil'],
    ['; name="a=b;c"; filename="d=e"', "a=b;c=d=e"],
    ['; name="a\\"b"; filename="c\\"d"', 'a"b=c"d'],
    ['; name="a%22b"; filename="%0D%0A%22"', 'a"b=\r\n"'],
    ['; name="%41%0d%"; filename="100%"', "%41%0d%=100%"],
    ['; name="f"; filename="C:\\temp\\a.txt"', "f=C:\\temp\\a.txt"],
    ['; name="f"; filename="\\\\server\\"', "f=\\\\server\\"],
    ['; name="a\\"; filename="b\\"', "a\\=b\\"],
    ['; name="ü😀"; filename="日本.txt"', "ü😀=日本.txt"],
    ['; filename="a" ; NAME = f ;', "f=a"],
    ["; name=f; filename=a.txt", "f=a.txt"],
    ["; name=f; filename=\"plain\"; filename*=UTF-8''%C3%BC", "f=plain"],
    ["; name=f; filename*=UTF-8''%C3%BC", "f=UTF-8''%C3%BC"],
    ['; name=""; filename="a"', "=a"],
  ];
  for (const [parameters, expected] of table) {
    const [[name, file] = []] = Object.entries(
      read(disposed(parameters)).files,
    );
    assertInstanceOf(file, UploadedFile, parameters);
    assertEquals(`${name}=${file.name}`, expected, parameters);
  }
});

Deno.test("`parseMultipart()` takes any header of a part in any case and order", () => {
  const text = "--X\r\nX-Other: a;b\r\ncontent-TYPE:text/html\r\n" +
    "CONTENT-disposition:Form-Data;name=a;filename=b\r\n\r\n1\r\n--X--";
  const { a } = read(text).files;
  assertInstanceOf(a, UploadedFile);
  assertEquals([a.name, a.type], ["b", "text/html"]);
});

Deno.test("`parseMultipart()` keeps every content apart from boundaries", () => {
  const contents = [
    "",
    "\r\n",
    "\r",
    "\n",
    "\r\n\r\n",
    "\r\r\n-",
    "a--X--",
    "\n--X--\n",
    "\r--X--",
    "\r\n-",
    "\r\n--",
    "\r\n--x\r\n",
    "\r\n\r\n-X",
    "\ufeffmark\0",
    part("b", "inner").slice(1),
  ];
  for (const content of contents) {
    const form = read(part("a", content) + part("z", "end") + "--X--");
    assertEquals(form.data.a, content, JSON.stringify(content));
    assertEquals(form.data.z, "end");
  }
});

Deno.test("`parseMultipart()` passes over what stands before and after the form", () => {
  const form = part("a", "1") + "--X--";
  for (const before of ["", "\r\n", "preamble\r\n", "--\r\n", "x--X--\r\n"]) {
    for (
      const after of ["", "\r\n", "\n", " ", "\r\n--X\r\n", part("b", "2")]
    ) {
      assertEquals(shown(read(before + form + after).data), '{"a":"1"}');
    }
  }
});

Deno.test("`parseMultipart()` reads the rarer forms of RFC 2046", () => {
  const table: [string, string][] = [
    ["--X--", "{}"],
    [part("a", "1").replace("--X", "--X \t ") + "--X-- ", '{"a":"1"}'],
    ["--X\r\nContent-Disposition: form-data; name=a\r\n\r\n--X--", '{"a":""}'],
  ];
  for (const [text, expected] of table) {
    assertEquals(shown(read(text).data), expected, text);
  }
});

Deno.test("`parseMultipart()` takes any boundary", () => {
  const table: [string, string][] = [
    ['Multipart/Form-Data; Boundary="(a+b)?"', "(a+b)?"],
    ["multipart/form-data; charset=utf-8; boundary=----a'b=c", "----a'b=c"],
    ['multipart/form-data; x="; boundary=Y"; boundary=X;', "X"],
    [`multipart/form-data; boundary="${"-".repeat(70)}"`, "-".repeat(70)],
  ];
  for (const [as, boundary] of table) {
    const text = part("a", "1") + part("b", "no --X") + "--X--\r\n";
    const form = read(text.replaceAll("--X", () => `--${boundary}`), as);
    assertEquals(shown(form.data), `{"a":"1","b":"no --${boundary}"}`, as);
  }
});

Deno.test("`parseMultipart()` refuses a malformed form with 400 and says what is wrong", () => {
  const table: [string, string, string][] = [
    [part("a", "1") + "--X--", "multipart/form-data", "has no boundary"],
    ["--\r\n----", 'multipart/form-data; boundary=""', "has no boundary"],
    ["--X--", "multipart/form-data; boundary=X; boundary=Y", "repeated at"],
    ["--X--", 'multipart/form-data; boundary="X', "malformed"],
    ["--X--", "multipart/form-data; boundary=X, a/b; boundary=Y", "malformed"],
    [part("a", "1"), type, "closing boundary is missing"],
    [
      part("a", "1") + part("b", "half", "b.txt"),
      type,
      "closing boundary is missing",
    ],
    [part("a", "1") + "--X", type, "closing boundary is missing"],
    ["hello", type, "closing boundary is missing"],
    [
      part("a", "1") + "--X\r\n\r\nnameless\r\n--X--",
      type,
      "headers of part 2 of the form: there is no Content-Disposition",
    ],
    [
      part("a", "1").replaceAll("\r\n", "\n") + "--X--",
      type,
      "closing boundary is missing",
    ],
    [part("a", "\r\n--Xtra") + "--X--", type, "text follows a boundary"],
    ["--X\r\n--X--", type, "no blank line"],
    [
      "--X\r\nContent-Disposition: form-data; name=a\r\n--X--",
      type,
      "no blank",
    ],
    [disposed(""), type, "no Content-Disposition"],
    [disposed("; filename=a"), type, "form-data with a name"],
    [disposed("; name=a").replace("form-data", "file"), type, "form-data"],
    [disposed("; name=a; name=b"), type, 'repeated at "; name=b"'],
    [disposed('; name=a; filename="b" c'), type, "malformed"],
    [disposed('; name="a'), type, "malformed"],
    [disposed("; name=a b"), type, "malformed"],
    [disposed("; name"), type, "malformed"],
    [disposed("; name=a\r\nno header"), type, 'at "\\r\\nno header"'],
    [disposed("; name=a\r\n folded: b"), type, "malformed"],
    [disposed("; name=a\nx: y"), type, "malformed"],
    [
      disposed("; name=a\r\ncontent-disposition: form-data; name=b"),
      type,
      "repeated at",
    ],
  ];
  for (const [text, as, message] of table) {
    const error = refusalOf(text, as);
    assertEquals(error.status, 400, text);
    assertStringIncludes(error.message, message, text);
  }
});

Deno.test("`parseMultipart()` refuses a name that is not UTF-8 with 400", () => {
  const bytes = encoder.encode(disposed('; name="?"'));
  bytes[bytes.indexOf("?".charCodeAt(0))] = 0xff;
  const error = assertThrows(() => parseMultipart(bytes, type), HttpError);
  assertEquals(error.status, 400);
  assertStringIncludes(
    error.message,
    "part 1 of the form: it is not UTF-8",
  );
});

Deno.test("`parseMultipart()` reads malformed bytes of a text as U+FFFD", () => {
  const bytes = encoder.encode(disposed('; name="a"'));
  bytes[bytes.lastIndexOf("1".charCodeAt(0))] = 0xff;
  assertEquals(shown(parseMultipart(bytes, type).data), '{"a":"\ufffd"}');
});

Deno.test("`parseMultipart()` refuses more fields, files or headers than the limits with 413", () => {
  const table: [string, string][] = [
    [part("a", "1").repeat(1_001), "more than 1000 fields"],
    [part("a", "1", "f").repeat(101), "more than 100 files"],
    [part("a", "1").repeat(1_002), "more than 1000 fields"],
    [part("a", "", "").repeat(101), "more than 100 files"],
    [part("a".repeat(8_192), "1"), "no blank line within 8192 bytes"],
  ];
  for (const [text, message] of table) {
    const error = refusalOf(`${text}--X--`);
    assertEquals(error.status, 413);
    assertStringIncludes(error.message, message);
  }
});

Deno.test("`parseMultipart()` takes 1,000 fields beside 100 files", () => {
  const names = Array.from({ length: 1_000 }, (_, index) => `n${index}`);
  const fields = names.map((name) => part(name, name)).join("");
  const files = part("f", "", "f").repeat(100);
  const form = read(fields + files + "--X--");
  assertEquals(Object.keys(form.data), names);
  assertEquals(Object.values(form.data), names);
  assertEquals((form.files.f as unknown[]).length, 100);
});

Deno.test("`parseMultipart()` gives up a form at the part that is too many", () => {
  const text = part("a", "1").repeat(1_001) + "--X\r\nbroken";
  assertEquals(refusalOf(text).status, 413);
});

Deno.test("`parseMultipart()` refuses a form that was cut short anywhere", () => {
  const whole = encoder.encode(
    "preamble\r\n" + part("a", "\r\n-- ü") + part("f", "\r\n\r\n", '%22;\\"') +
      part("a", "") + "--X--",
  );
  assertEquals(
    shown(parseMultipart(whole, type)),
    '{"data":{"a":""},"files":{"f":"\\";\\" (4)"}}',
  );
  for (let end = 0; end < whole.length; end++) {
    const read = () => parseMultipart(whole.subarray(0, end), type);
    assertEquals(
      assertThrows(read, HttpError, undefined, `cut at ${end}`).status,
      400,
    );
  }
});

Deno.test("`parseMultipart()` reads or refuses a form in which any byte was changed", () => {
  const whole = encoder.encode(part("a", "1") + part("f", "2", "f") + "--X--");
  for (const byte of [0, 9, 10, 13, 32, 34, 45, 59, 61, 92, 128, 255]) {
    for (let at = 0; at < whole.length; at++) {
      const changed = whole.with(at, byte);
      try {
        parseMultipart(changed, type);
      } catch (error) {
        assertInstanceOf(error, HttpError, `${byte} at ${at}`);
        assertEquals(error.status, 400);
      }
    }
  }
});

Deno.test("`parseMultipart()` reads what the platform writes", async () => {
  const names = ['a"b', "a\r\nb", "a;b=c", "ü", "a\\b", "%"];
  const form = new FormData();
  for (const name of names) form.append(name, new Blob([name]), name);
  const { files } = await contentOf(requestOf(form));
  for (const name of names) {
    const file = files[name];
    assertInstanceOf(file, UploadedFile, name);
    assertEquals([file.name, await file.text()], [name, name]);
  }
});

Deno.test("`parseMultipart()` refuses a parameter of a million spaces at once", () => {
  // With two parts of the expression that take the same spaces, this would take hours.
  const spaces = " ".repeat(1_000_000);
  const error = refusalOf("", `multipart/form-data; a=${spaces}b c`);
  assertEquals(error.status, 400);
  for (const value of ["b", '"b"', ""]) {
    const sent = `multipart/form-data; a=${spaces}${value}; boundary=X`;
    assertEquals(read(`${part("a", "1")}--X--`, sent).data.a, "1");
  }
});

Deno.test("`parseForm()` reads a multipart form into `data` and `files`", async () => {
  const form = new FormData();
  form.append("title", "A");
  form.append("file", new Blob(["x"]), "x.txt");
  const content = await contentOf(requestOf(form));
  assertEquals(
    content.data,
    Object.assign(Object.create(null), { title: "A" }),
  );
  assertInstanceOf(content.files.file, UploadedFile);
});

Deno.test("`parseForm()` leaves what is wrong with a form to whoever reads it", async () => {
  const headers = { "content-type": type };
  const request = new Request("http://localhost/", {
    method: "POST",
    headers,
    body: "cut",
  });
  const content = await contentOf(request);
  assertEquals(content.text(), "cut");
  for (const property of ["data", "files"] as const) {
    const error = assertThrows(() => content[property], HttpError);
    assertEquals(error.status, 400, property);
  }
});

Deno.test("`parseForm()` reads an empty multipart body as an empty form", async () => {
  const headers = { "content-type": type };
  const request = new Request("http://localhost/", {
    method: "POST",
    headers,
    body: "",
  });
  const content = await contentOf(request);
  assertEquals([Object.keys(content.data), Object.keys(content.files)], [
    [],
    [],
  ]);
});
