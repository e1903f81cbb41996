// Opens a page without being signed in, signs in at the provider, pauses a queue, signs out, and opens the page again.
// Reads {address, who, unpacked}; `unpacked` is a directory for the browser. Prints where each step led, the cookies,
// and the console errors.
import { readFileSync } from "node:fs";
import { browse } from "./browser.mjs";

const { address, who, unpacked } = JSON.parse(readFileSync(0, "utf8"));
const { browser, page, said } = await browse(unpacked);
const led = [];
const leads = async (deed) => {
  await Promise.all([page.waitForNavigation(), deed()]);
  const { origin, pathname } = new URL(page.url());
  led.push(origin === address ? pathname : "the provider");
};

await leads(() => page.goto(address + "/"));
await leads(() => page.click("a.button"));
const abroad = page.url();
await page.type("[name=login]", who);
await page.type("[name=password]", "x");
await leads(() => page.keyboard.press("Enter")); // to the consent page
said.length = 0; // errors of the provider's own pages do not count
await Promise.all([page.waitForFunction(() => location.pathname === "/" && document.title.startsWith("Now")), page.click("button")]);
led.push(new URL(page.url()).pathname);
const name = await page.$eval(".who", (one) => one.innerText);
const kept = (await page.cookies()).map(({ name, httpOnly, sameSite }) => ({ name, httpOnly, sameSite }));
await page.goto(address + "/queues");
await page.click('details:has(form[action="/queues/emails/pause"]) summary');
await leads(() => page.click('form[action="/queues/emails/pause"] button'));
const done = await page.$eval("[role=status]", (one) => one.innerText);
await leads(() => page.click('form[action="/sign-out"] button'));
await leads(() => page.goto(address + "/queues"));
const left = await page.cookies();
await browser.close();
console.log(JSON.stringify({ led, abroad, name, kept, done, left, said }));
