// Builds the page into the Python package, where it is data: `npm ci && npm run build`.
import { build } from "esbuild";

const into = "../graph/web/page/";
await build({
  entryPoints: ["src/room.tsx"],
  outfile: into + "room.js",
  bundle: true,
  minify: true,
  format: "iife",
  target: "es2022",
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "inline",
  charset: "ascii",
});
await build({ entryPoints: ["src/room.css"], outfile: into + "room.css", bundle: true, minify: true, target: "chrome123" });
