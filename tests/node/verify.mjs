// Verifies callbacks with each library. Reads a list of {secret, headers, body}.
import { readFileSync } from "node:fs";
import { Webhook as Standard } from "standardwebhooks";
import { Webhook as Svix } from "svix";
import { Webhook as EarlierSvix } from "svix1";

const callbacks = JSON.parse(readFileSync(0, "utf8"));
const verified = ({ secret, headers, body }) =>
  [Svix, EarlierSvix, Standard].map((Webhook) => {
    try {
      const said = new Webhook(secret).verify(body, headers);
      return { payload: said === undefined ? JSON.parse(body) : said };
    } catch (error) {
      return { error: error.message };
    }
  });
console.log(JSON.stringify(callbacks.map(verified)));
