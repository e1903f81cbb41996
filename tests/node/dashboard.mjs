// Looks at the dashboard with a browser: what axe finds on each page in each way of looking, what the console said, and what came of a cancellation
// and of a page that goes on by itself. Arguments: address, file with the key, directory for pictures or "-", and one for the browser.
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import chromium from "@sparticuz/chromium";
import puppeteer from "puppeteer-core";

const [address, keyFile, pictures, unpacked] = process.argv.slice(2);
mkdirSync(unpacked, { recursive: true });
process.env.TMPDIR = unpacked;
const axe = readFileSync(new URL("node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
const browser = await puppeteer.launch({
  args: chromium.args,
  executablePath: process.env.PGSCHED_TEST_BROWSER || (await chromium.executablePath()),
  headless: "shell",
});
const page = await browser.newPage();
const said = [];
page.on("console", (message) => message.type() === "error" && said.push(message.text()));
page.on("pageerror", (error) => said.push(error.message));

const found = [];
const ways = [
  { name: "desktop light", width: 1280, height: 900, scheme: "light" },
  { name: "desktop dark", width: 1280, height: 900, scheme: "dark" },
  { name: "phone light", width: 390, height: 844, scheme: "light" },
  { name: "phone dark", width: 390, height: 844, scheme: "dark" },
];
const look = async (name, path) => {
  await page.goto(address + path);
  for (const way of ways) {
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: way.scheme }]);
    await page.setViewport(way);
    if (pictures !== "-") await page.screenshot({ path: join(pictures, `dashboard-${name}-${way.name.replace(" ", "-")}.png`) });
    if (pictures === "-" && way.name !== "desktop light" && way.name !== "phone dark") continue;
    await page.bringToFront();
    const { violations, wide } = await page.evaluate(async (source) => {
      if (!window.axe) new Function(source)();
      const { violations } = await window.axe.run(document, { resultTypes: ["violations"] });
      return { violations, wide: document.documentElement.scrollWidth > document.documentElement.clientWidth };
    }, axe);
    for (const one of violations) found.push(`${path}, ${way.name}: ${one.id} (${one.impact}): ${one.nodes[0].html}`);
    if (wide) found.push(`${path}, ${way.name}: is wider than the window`);
  }
};

await page.setBypassCSP(true); // for axe alone, which is put in from here
await look("sign-in", "/sign-in");
await page.setBypassCSP(false);
await page.goto(address + "/jobs");
await page.type("#key", readFileSync(keyFile, "utf8").trim());
await Promise.all([page.waitForNavigation(), page.keyboard.press("Enter")]);
const led = new URL(page.url()).pathname;

await page.goto(address + "/");
const before = await page.$eval(".figures", (figures) => figures.innerText);
await page.waitForResponse((answer) => answer.url() === address + "/now" && answer.ok());
await page.waitForFunction((text) => document.querySelector(".figures").innerText !== text, {}, before);

await page.goto(address + "/executions?status=scheduled");
await Promise.all([page.waitForNavigation(), page.click("tbody tr:first-child a")]);
const execution = new URL(page.url()).pathname;
await Promise.all([page.waitForNavigation(), page.click(".actions button.danger")]);
const done = await page.$eval("[role=status]", (one) => one.innerText);

const violations = [...said];
await page.setBypassCSP(true);
await page.goto(address + "/jobs");
const job = await page.$eval("tbody tr:first-child td:last-child a", (link) => new URL(link.href).pathname);
for (const [name, path] of Object.entries({
  now: "/", executions: "/executions", execution, jobs: "/jobs", job, "dead-letters": "/dead-letters", database: "/database", refused: "/jobs?job_state=none",
}))
  await look(name, path);
await browser.close();
console.log(JSON.stringify({ found, said: violations, led, done }));
