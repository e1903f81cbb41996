// Actions on the pages of executions, jobs and dead letters; `does` records what the page reports after each.
export const work = async ({ page, address, does, surely, led_by, press, fill, things }) => {
  const [execution] = things.execution_id;
  const [job] = things.job_id;
  await page.goto(`${address}/executions/${execution}/edit`);
  await page.$eval("[name=target]", (field) => (field.value += "?again"));
  await does(() => fill(`/executions/${execution}/edit`, { note: "wrong order" }));
  await does(() => press('form[action$="/run-now"] button'));

  await page.goto(`${address}/executions?client=shop`);
  await led_by(() => page.click('a[href*="action=cancel"]'));
  await does(() => page.click("main form button.danger"));
  await page.waitForResponse((answer) => answer.url().includes("/bulk/") && answer.ok()); // the page refreshes itself
  await surely('#live');

  await page.goto(`${address}/jobs/${job}/edit`);
  await page.$eval("[name=every]", (field) => (field.value = "30m"));
  await led_by(() => page.click("button[value=preview]"));
  await does(() => page.click("button[value=save]"));
  await does(() => page.click('form[action$="/pause"] button'));
  await does(() => page.click('form[action$="/resume"] button'));
  await does(() => page.click('form[action$="/trigger"] button'));
  await page.goto(`${address}/jobs?key=close-day`);
  await led_by(() => page.click("tbody td.long a"));
  await led_by(() => page.click('a[href$="/backfill"]'));
  await page.$eval("[name=from]", (field) => (field.value = "2020-01-01T00:00"));
  await page.$eval("[name=to]", (field) => (field.value = "2020-02-01T00:00"));
  await led_by(() => page.click("main form button"));
  await does(() => page.click("main form button"));
  await surely("#live");

  await page.goto(`${address}/jobs/week`);
  await led_by(() => page.click(".week a"));
  if (!(await page.$("#hour ~ .wide tbody a"))) throw new Error("an hour in which a job fires lists no job");

  await page.goto(`${address}/dead-letters`);
  await surely("#rows tbody tr:first-child");
  await page.goto(`${address}/dead-letters`);
  await led_by(() => page.click('td a[href*="action=replay"]'));
  await does(() => page.click("main form button"));
  await page.goto(`${address}/dead-letters`);
  await led_by(() => page.click('tbody a.button[href$="/replay"]'));
  await does(() => page.click("main form button"));
};
