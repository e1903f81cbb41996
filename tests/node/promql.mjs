// Parses PromQL with Prometheus's own grammar. Reads a list of expressions; prints whether each is valid, and the
// metrics that it names.
import { readFileSync } from "node:fs";
import { parser } from "@prometheus-io/lezer-promql";

const read = (expression) => {
  const metrics = new Set();
  let valid = true;
  parser.parse(expression).iterate({
    enter: (node) => {
      if (node.type.isError) valid = false;
      if (node.name === "Identifier" && node.node.parent.name === "VectorSelector")
        metrics.add(expression.slice(node.from, node.to));
    },
  });
  return { valid, metrics: [...metrics] };
};
console.log(JSON.stringify(JSON.parse(readFileSync(0, "utf8")).map(read)));
