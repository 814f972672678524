/** Owns a certificate for 127.0.0.1, made for a test by `openssl`. */

const ARGUMENTS =
  "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 " +
  "-keyout - -out - -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1 " +
  "-addext basicConstraints=critical,CA:FALSE";

/** A certificate that signs itself, and its key, in PEM. */
export async function certificate(): Promise<{ cert: string; key: string }> {
  const { stdout } = await new Deno.Command("openssl", {
    args: ARGUMENTS.split(" "),
    stderr: "null",
  }).output();
  const pem = new TextDecoder().decode(stdout);
  const at = pem.indexOf("-----BEGIN CERTIFICATE-----");
  return { key: pem.slice(0, at), cert: pem.slice(at) };
}
