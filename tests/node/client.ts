// Calls the API with a client whose types are generated from its OpenAPI document.
import createClient from "openapi-fetch";
import type { paths } from "./generated.ts";

declare const process: { argv: string[]; env: Record<string, string> };
[, , process.env.PGSCHED_API, process.env.PGSCHED_API_KEY] = process.argv;
const page = await import("./shop.ts");
const { GET, POST, PATCH, DELETE } = createClient<paths>({ baseUrl: process.argv[2], headers: { "X-Requested-With": "tests", Authorization: `Bearer ${process.argv[3]}` } });

const scheduled = await POST("/v1/jobs", {
  body: { target: "https://shop.example/report", key: "report", schedule: { cron: "30 2 * * *", timezone: "Europe/Berlin" } },
});
if (!scheduled.data) throw new Error(scheduled.error.detail);
const again = await POST("/v1/jobs", {
  body: { target: "https://shop.example/report", key: "report", schedule: { cron: "30 2 * * *", timezone: "Europe/Berlin" } },
});
const path = { job_id: scheduled.data.id };

const paused = await POST("/v1/jobs/{job_id}/pause", { params: { path } });
const resumed = await POST("/v1/jobs/{job_id}/resume", { params: { path }, body: { note: "again" } });
const edited = await PATCH("/v1/jobs/{job_id}", { params: { path }, body: { labels: { team: "reports" } } });
const triggered = await POST("/v1/jobs/{job_id}/trigger", { params: { path } });
const range = { job: scheduled.data.id, from: "2026-02-01T00:00:00Z", to: "2026-02-03T00:00:00Z" };
const counted = await POST("/v1/bulk", { body: { action: "backfill", filter: range, dry_run: true } });
const listed = await GET("/v1/jobs", { params: { query: { label: ["team=reports"] } } });
const cancelled = await DELETE("/v1/jobs/{job_id}", { params: { path } });
const unknown = await POST("/v1/jobs", { body: { target: "https://shop.example/x", after: ["nothing"] } });

const reminder = await page.remindTomorrow(42);
const reminders = [];
for await (const execution of page.executions("remind-42")) reminders.push(execution.key, execution.status);

console.log(
  JSON.stringify({
    created: [scheduled.response.status, scheduled.data.outcome, scheduled.data.fire_at !== null],
    again: [again.response.status, again.data?.outcome],
    paused: paused.data?.changed,
    resumed: resumed.data?.changed,
    labels: edited.data?.labels,
    triggered: triggered.data?.job_id === scheduled.data.id,
    counted: [counted.response.status, counted.data?.matched],
    listed: listed.data?.items.map((job) => job.key),
    cancelled: cancelled.data?.changed,
    of_the_page: { scheduled: reminders, cancelled: await page.cancel(reminder) },
    unknown: [unknown.response.status, unknown.error?.code],
  }),
);
