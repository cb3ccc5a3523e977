// Asking the server. Credentials are those of the login form, sent with each request: the browser keeps none, and so no
// other page can make it use them.

const KEY = "millstream-authorization";

export class Refused extends Error {
  constructor(status, message, body) {
    super(message);
    this.status = status;
    this.body = body;
  }
}

export function logIn(authorization) {
  if (authorization) sessionStorage.setItem(KEY, authorization);
  else sessionStorage.removeItem(KEY);
}

export const isLoggedIn = () => sessionStorage.getItem(KEY) !== null;

async function send(path, options = {}) {
  const headers = { ...(options.headers ?? {}) };
  const authorization = sessionStorage.getItem(KEY);
  if (authorization) headers.authorization = authorization;
  let response;
  try {
    response = await fetch(path, { ...options, headers, credentials: "omit", cache: "no-store" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Refused(0, "the server does not answer");
  }
  if (!response.ok) {
    const text = await response.text();
    let body = null;
    try { body = JSON.parse(text); } catch { /* plain text */ }
    throw new Refused(response.status, body?.message ?? body?.primary ?? (text || `the server answers ${response.status}`), body);
  }
  return response;
}

const query = (parameters) => {
  const given = Object.entries(parameters ?? {}).filter(([, value]) => value !== undefined && value !== null && value !== "");
  return given.length ? `?${new URLSearchParams(given)}` : "";
};

export const get = async (path, parameters, signal) => (await send(`/console/api${path}${query(parameters)}`, { signal })).json();

// Stores of an application, in the API of its views.
export const stores = async (path, parameters, signal) => (await send(`/stores${path}${query(parameters)}`, { signal })).json();

export const post = async (path, body) => (await send(`/console/api${path}`, {
  method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body),
})).json();

// Statements, in ksqlDB's protocol.
export const statements = async (ksql, properties = {}) => (await send("/ksql", {
  method: "POST", headers: { "content-type": "application/json", accept: "application/json" },
  body: JSON.stringify({ ksql, streamsProperties: properties }),
})).json();

const parsed = (line) => /^[[{]/.test(line) ? JSON.parse(line) : line;

// A query: `take` gets each line of the answer, the first of which describes it; those of PRINT are text. Ends with the
// answer, or the signal.
export async function rows(sql, properties, take, signal) {
  const response = await send("/query-stream", {
    method: "POST", headers: { "content-type": "application/json", accept: "application/vnd.ksqlapi.delimited.v1" },
    body: JSON.stringify({ sql, properties }), signal,
  });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      const lines = (rest + value).split("\n");
      rest = lines.pop();
      for (const line of lines) if (line.trim()) take(parsed(line));
    }
    if (rest.trim()) take(parsed(rest));
  } catch (error) {
    if (error.name !== "AbortError") throw error;
  }
}
