// Checks the dashboard with a browser: axe on each page in each view, console errors, the results of forms, and a page
// that refreshes itself. Reads {address, key, paths, pictures, things, unpacked}: `key` is the file with the key,
// `pictures` is a directory or null, and `unpacked` is a directory for the browser.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { browse } from "./browser.mjs";
import { work } from "./dashboard_work.mjs";

const { address, key, paths, pictures, things, unpacked } = JSON.parse(readFileSync(0, "utf8"));
const axe = readFileSync(new URL("node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
const { browser, page, said } = await browse(unpacked);

const found = [];
const ways = [
  { name: "desktop-light", width: 1280, height: 900, scheme: "light" },
  { name: "desktop-dark", width: 1280, height: 900, scheme: "dark" },
  { name: "phone-light", width: 390, height: 844, scheme: "light" },
  { name: "phone-dark", width: 390, height: 844, scheme: "dark" },
];
const looked_at = [];
const named = new Set();
const look = async (path) => {
  await page.goto(address + path);
  looked_at.push(path);
  if (!(await page.$("main"))) return; // a fragment of another page
  const id = /[0-9a-f]{8}-[0-9a-f-]{27}/;
  const { pathname, searchParams } = new URL(path, address);
  const plain = pathname === "/" ? "now" : pathname.slice(1).replace(id, "one").replace(/\d+$/, "one").replace(/[^a-z]+/g, "-");
  const name = named.has(plain) ? `${plain}-${[...searchParams.keys()].join("-")}` : plain;
  named.add(name);
  await page.waitForFunction(() => !document.querySelector("#checks[hx-get]")); // replaces itself
  for (const way of ways) {
    const judged = way.name === "desktop-light" || way.name === "phone-dark";
    if (!pictures && !judged) continue;
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: way.scheme }]);
    await page.setViewport(way);
    if (pictures) await page.screenshot({ path: join(pictures, `dashboard-${name}-${way.name}.png`) });
    await page.bringToFront();
    if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(axe);
    const { violations, wide, sideways, nameless, lapped } = await page.evaluate(async () => {
      // No enabled rule needs what preloading would fetch again.
      const { violations } = await window.axe.run(document, { resultTypes: ["violations"], preload: false });
      const shown = (one) => one.checkVisibility() && one.getBoundingClientRect();
      const inside = ({ left, right, width }) => width > 0 && left >= 0 && right <= window.innerWidth;
      const scrolls = (one) => one.scrollWidth > one.clientWidth && /auto|scroll/.test(getComputedStyle(one).overflowX);
      return {
        violations,
        wide: document.documentElement.scrollWidth > document.documentElement.clientWidth,
        sideways: [...document.querySelectorAll("body *")].filter(scrolls).map((one) => one.outerHTML.slice(0, 100)),
        nameless: [...document.querySelectorAll(".wide tbody tr")].filter((row) =>
          ![...row.querySelectorAll("a, th, td")].slice(0, 4).some((one) => one.innerText.trim() && inside(shown(one)))).length,
        lapped: [...document.querySelectorAll(".cards :is(td, tbody th)")].filter((one) => one.scrollHeight > one.clientHeight + 1).length,
      };
    });
    for (const one of violations) found.push(`${path}, ${way.name}: ${one.id} (${one.impact}): ${one.nodes[0].html}`);
    if (wide) found.push(`${path}, ${way.name}: wider than the window`);
    if (way.width > 400) continue;
    for (const one of sideways) found.push(`${path}, ${way.name}: scrolls sideways: ${one}`);
    if (lapped) found.push(`${path}, ${way.name}: ${lapped} cells overlap the next one`);
    if (nameless) found.push(`${path}, ${way.name}: ${nameless} rows show no name`);
  }
};
const led_by = async (deed) => {
  await Promise.all([page.waitForNavigation(), deed()]);
  return new URL(page.url()).pathname;
};
// Finds and clicks in one step, because an element that is replaced every few seconds could vanish in between.
const press = (selector) => page.evaluate((which) => document.querySelector(which).click(), selector);
const done = [];
const does = async (deed) => {
  await led_by(deed);
  done.push(await page.$eval("[role=status]", (one) => one.innerText));
};
// Something irreversible: its button appears only after a first click.
const surely = async (where) => {
  const shown = () => page.$$eval(`${where} details form button.danger`, (all) => all.some((one) => one.checkVisibility()));
  if (await shown()) throw new Error(`a single click is enough: ${where}`);
  await press(`${where} summary.danger`);
  if (!(await shown())) throw new Error(`no confirmation is shown: ${where}`);
  await does(() => press(`${where} details[open] form button.danger`));
};
const fill = async (form, fields) => {
  for (const [name, text] of Object.entries(fields)) await page.type(`form[action="${form}"] [name="${name}"]`, text);
  return page.keyboard.press("Enter");
};

await page.setBypassCSP(true); // only for axe, which this script injects
await look("/sign-in");
await page.setBypassCSP(false);
await page.goto(address + "/jobs");
await page.type("#key", readFileSync(key, "utf8").trim());
const led = await led_by(() => page.keyboard.press("Enter"));

await page.goto(address + "/");
const before = await page.$eval(".figures", (figures) => figures.innerText);
await page.waitForResponse((answer) => answer.url() === address + "/now" && answer.ok());
await page.waitForFunction((text) => document.querySelector(".figures").innerText !== text, {}, before);

// Open details stay open, and keep the focus, when the page around them is replaced.
await page.goto(`${address}/executions/${things.execution_id[0]}`);
await page.click("#live details summary");
await page.$eval("#live", (live) => live.setAttribute("data-former", ""));
await page.waitForSelector("#live:not([data-former])");
const stays = await page.$eval("#live details", (one) => [one.open, document.activeElement === one.querySelector("summary")]);

const deeds = async () => {
  await page.goto(address + "/executions?status=scheduled");
  await led_by(() => page.click("tbody tr:first-child a"));
  await surely(".actions");

  await page.goto(address + "/client?name=shop");
  await does(() => fill("/client/hold", { note: "they asked" }));
  await does(() => page.click('form[action="/client/release"] button'));
  await page.goto(address + "/limits");
  await does(() => fill("/limits/set", { name: "busy", rate: "10" }));
  await page.click('details:has([value=busy]) summary');
  await does(() => page.click('form[action="/limits/drop"]:has([value=busy]) button'));
  await page.goto(address + "/targets");
  await does(() => fill("/targets/sideline", { host: "down.example", note: "moving" }));
  await does(() => page.click('form[action="/targets/restore"]:has([value="down.example"]) button'));
  await page.goto(address + "/queues");
  await surely('tr:has(form[action="/queues/emails/pause"])');
  await does(() => page.click('form[action="/queues/emails/resume"] button'));

  await work({ page, address, does, surely, led_by, press, fill, things });
};
if (!pictures) await deeds(); // pictures are taken beside workers, which would finish before anything can be cancelled

const heard = [...said];
if (pictures) {
  await page.goto(address + "/"); // its charts show only what arrived while it was open
  for (let seen = 0; seen < 15; seen++) await page.waitForResponse((answer) => answer.url() === address + "/now" && answer.ok());
}
await page.setBypassCSP(true);
for (const path of [...paths].sort((a, b) => (b === "/") - (a === "/"))) await look(path);
await browser.close();
console.log(JSON.stringify({ found, said: heard, led, done, looked_at, stays }));
