/** Owns finding out whether a server opens a WebSocket. */

/** Whether a WebSocket opens; it has closed again by then. */
export async function opensSocket(url: string): Promise<boolean> {
  const socket = new WebSocket(url);
  let isOpened = false;
  socket.onopen = () => isOpened = true;
  await new Promise((resolve) => socket.onclose = resolve);
  return isOpened;
}
