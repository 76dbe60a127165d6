// How Vite builds the page: relative addresses, hashed names, the terminal in a chunk of its own.

import { defineConfig } from "vite";

/**
 * xterm.js writes colours with `setAttribute("style", …)`, which our Content-Security-Policy refuses; the same text set
 * through the object model is allowed.
 */
function styleAttributes() {
  const before = /(\w+)\.setAttribute\("style",(`\$\{\1\.getAttribute\("style"\)\|\|""\}\$\{\w+\};`)\)/g;
  return {
    name: "style-attributes",
    transform(code, id) {
      if (!/@xterm\/xterm\/lib\/xterm\.mjs$/.test(id)) return null;
      let count = 0;
      const mended = code.replace(before, (_all, element, value) => {
        count++;
        return `${element}.style.cssText=${value}`;
      });
      if (count !== 1) throw new Error(`expected one style attribute in xterm.js, found ${count}: look at its new code`);
      return { code: mended, map: null };
    },
  };
}

export default defineConfig({
  base: "./",
  plugins: [styleAttributes()],
  build: {
    target: "es2022",
    modulePreload: false,
    sourcemap: false,
    cssCodeSplit: true,
    assetsInlineLimit: 0,
    reportCompressedSize: false,
    emptyOutDir: true,
    rollupOptions: {
      output: {
        // Apart, so that a change of our own code does not change the largest file.
        codeSplitting: { groups: [{ name: "xterm", test: /node_modules\/@xterm\// }] },
        entryFileNames: "assets/[name]-[hash].js",
        chunkFileNames: "assets/[name]-[hash].js",
        assetFileNames: "assets/[name]-[hash][extname]",
      },
    },
  },
});
