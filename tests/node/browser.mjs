// A headless Chromium, and the console errors of its pages. It can connect only to this machine.
import { mkdirSync } from "node:fs";
import chromium from "@sparticuz/chromium";
import puppeteer from "puppeteer-core";

export const browse = async (unpacked) => {
  mkdirSync(unpacked, { recursive: true });
  process.env.TMPDIR = unpacked;
  chromium.setGraphicsMode = false; // no page uses WebGL, and emulating it is slow
  const browser = await puppeteer.launch({
    args: [...chromium.args, "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"],
    executablePath: process.env.PGSCHED_TEST_BROWSER || (await chromium.executablePath()),
    headless: "shell",
  });
  const page = await browser.newPage();
  const said = [];
  page.on("console", (message) => message.type() === "error" && said.push(message.text()));
  page.on("pageerror", (error) => said.push(error.message));
  return { browser, page, said };
};
