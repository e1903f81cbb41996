// Inserts with Knex: one row in a committed transaction, one in a rolled-back transaction, many in one statement, and
// one with pgsched.schedule. Reads {connection, role}; prints the ids of the first and the last.
import { readFileSync } from "node:fs";
import knex from "knex";

const { connection, role } = JSON.parse(readFileSync(0, "utf8"));
const db = knex({ client: "pg", connection: { ...connection, options: `-c role=${role}` }, pool: { min: 1, max: 2 } });
const executions = (by) => by("executions").withSchema("pgsched");
const row = (payload, seconds) => ({
  client_id: "webshop",
  target: "https://shop.example/ship",
  payload: JSON.stringify(payload),
  fire_at: new Date(Date.now() + seconds * 1000),
});

const [committed] = await db.transaction((by) => executions(by).insert(row({ order: 1 }, 60)).returning("id"));
await db
  .transaction(async (by) => {
    await executions(by).insert(row({ order: "none" }, 60));
    throw new Error("rolled back");
  })
  .catch((error) => {
    if (error.message !== "rolled back") throw error;
  });
await executions(db).insert([row([2], 120), row({ order: 3 }, 180)]);
const called = await db.raw(
  "select pgsched.schedule(?, payload => ?, client => ?, key => ?, delay => ?) as id",
  ["https://shop.example/remind", JSON.stringify({ order: 4 }), "webshop", "remind-4", "1 day"],
);
console.log(JSON.stringify({ committed: committed.id, called: called.rows[0].id }));
await db.destroy();
