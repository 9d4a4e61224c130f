// node extract_snippets.mjs FOLDER NAME=MARKDOWN…: writes every block of TypeScript as a module of its own, to be compiled and run.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const [folder, ...pages] = process.argv.slice(2);
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
for (const [name, source] of pages.map((page) => page.split("="))) {
  const blocks = [...readFileSync(source, "utf8").matchAll(/^```(?:ts|typescript)\b[^\n]*\n([\s\S]*?)^```$/gm)].map((match) => match[1]);
  if (blocks.length === 0) {
    console.error(`${source} has no blocks of TypeScript`);
    process.exit(1);
  }
  for (const [index, block] of blocks.entries()) {
    // Without an import or export it would be a script, in which nothing can be awaited.
    writeFileSync(join(folder, `${name}_${index + 1}.ts`), `${block}\nexport {};\n`);
    // The first one is for whoever has no compiler, too.
    if (index === 0) writeFileSync(join(folder, `${name}_first.mjs`), block);
  }
  console.log(`${source}: ${blocks.length} snippets`);
}
