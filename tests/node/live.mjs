// Uses pages that refresh themselves: scrolls, moves the focus, selects, presses, and lets refreshes fail. Reads
// {address, key, execution, unpacked}: the execution waits, and `unpacked` is a directory for the browser. Prints what
// survived the refreshes.
import { readFileSync } from "node:fs";
import { browse } from "./browser.mjs";

const { address, key, execution, unpacked } = JSON.parse(readFileSync(0, "utf8"));
const { browser, page } = await browse(unpacked);
const of = `/executions/${execution}`;
let fails = null;
await page.goto(address + "/sign-in");
await page.type("#key", key);
await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);

// Marks what the next answer replaces, and waits until it is replaced.
const replaced = async (selector, deed = () => {}) => {
  await page.$eval(selector, (one) => one.setAttribute("data-former", ""));
  await deed();
  await page.waitForSelector(`${selector}:not([data-former])`);
};
// For answers that must replace nothing: whether the marked element is still there after two of them.
const stays = async (selector, path) => {
  await page.$eval(selector, (one) => one.setAttribute("data-former", ""));
  for (let seen = 0; seen < 2; seen++) await page.waitForResponse((answer) => new URL(answer.url()).pathname === path);
  await page.evaluate(() => new Promise((then) => setTimeout(then, 100)));
  return (await page.$(`${selector}[data-former]`)) !== null;
};

// A window too wide for cards, and a body too narrow for a table.
await page.setViewport({ width: 700, height: 844 });
await page.goto(address + "/");
await page.evaluate(() => (document.body.style.width = "300px"));
await page.$eval("[aria-label=Queues]", (one) => one.focus() ?? one.scrollTo(60, 0));
await replaced(".figures");
const scrolled = await page.$eval("[aria-label=Queues]", (one) => [one.scrollLeft, one === document.activeElement]);

await page.setViewport({ width: 1280, height: 900 });
const link = '[aria-label=Clients] a[href="/client?name=m"]';
const place = () => page.$eval(link, (one) => [...document.querySelectorAll("[aria-label=Clients] a")].indexOf(one));
await page.focus(link);
const before = await place();
const more = { client: "a", target: "notify:a" };
const headers = { Authorization: `Bearer ${key}`, "Content-Type": "application/json" };
await fetch(`${address}/v1/jobs`, { method: "POST", headers, body: JSON.stringify(more) });
await page.waitForSelector('[aria-label=Clients] a[href="/client?name=a"]');
const focused = [before, await place(), await page.evaluate(() => document.activeElement.getAttribute("href"))];

await page.goto(address + of);
await page.$eval("#live .target", (one) => getSelection().selectAllChildren(one));
const selected = [await stays("#live", of), await page.evaluate(() => getSelection().toString())];
await replaced("#live", () => page.evaluate(() => getSelection().removeAllRanges()));

const button = await (await page.$('#live a[href$="/edit"]')).boundingBox();
await page.mouse.move(button.x + 5, button.y + 5);
await page.mouse.down();
const pressed = [await stays("#live", of)];
await Promise.all([page.waitForNavigation(), page.mouse.up()]);
pressed.push(new URL(page.url()).pathname);

await page.goto(address + of);
await page.setRequestInterception(true);
page.on("request", (request) => {
  const isPart = [of, "/now"].includes(new URL(request.url()).pathname) && request.headers()["hx-request"] !== undefined;
  if (!isPart || fails === null) request.continue();
  else if (fails === 0) request.abort();
  else request.respond({ status: fails, contentType: "text/html", body: fails === 503 ? '<p class="fault">It is &lt;away&gt;.</p>' : "<h1>Bad Gateway</h1>" });
});
await page.click("#live details summary");
const told = [];
for (const path of [of, "/"]) {
  await page.goto(address + path);
  const live = path === "/" ? "main" : "#live";
  for (fails of [503, 502, 0]) {
    await page.waitForFunction((text) => document.querySelector(".away")?.textContent.includes(text), {}, fails === 503 ? "<away>" : "refreshed now");
    told.push(await page.$eval(live, (one) => [one.querySelector("table, .timeline") !== null, one.querySelectorAll(".away").length > 0]));
    fails = null;
    await page.waitForFunction(() => !document.querySelector(".away"));
  }
}
await browser.close();
console.log(JSON.stringify({ scrolled, focused, selected, pressed, told }));
