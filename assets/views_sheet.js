/* BlockViz.Sheet: the newest cells of a heat map, laid over Plotly's own picture of it until Plotly has caught up. Painting them
   takes a millisecond, a call of Plotly twenty. It stands where Plotly has its picture: over the grid, under lines, labels and hover. */
(function () {
  "use strict";
  const BlockViz = (window.BlockViz = window.BlockViz || {});
  const { make } = BlockViz.viewTools;
  const SHADES = 512; // colours of a scale that are told apart

  let pen = null; // a context that reads colours

  /** A colour as [red, green, blue] of 0 .. 255. */
  function rgb(color) {
    pen = pen || document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    pen.fillStyle = color;
    pen.fillRect(0, 0, 1, 1);
    return pen.getImageData(0, 0, 1, 1).data;
  }

  /** Uint32Array [SHADES] of pixels (ABGR, as ImageData has them in memory) along a Plotly colour scale [[share, colour], ...]. */
  function shades(scale) {
    const stops = scale.map(([at, color]) => [at, rgb(color)]);
    const pixels = new Uint32Array(SHADES);
    const bytes = new Uint8ClampedArray(pixels.buffer);
    for (let i = 0, next = 1; i < SHADES; i++) {
      const at = (i + 0.5) / SHADES;
      while (next < stops.length - 1 && stops[next][0] <= at) next++;
      const [[from, first], [to, second]] = [stops[next - 1], stops[next]];
      const share = to > from ? Math.min(1, Math.max(0, (at - from) / (to - from))) : 1;
      for (let c = 0; c < 3; c++) bytes[4 * i + c] = first[c] + share * (second[c] - first[c]);
      bytes[4 * i + 3] = 255;
    }
    return pixels;
  }

  class Sheet {
    /** `plot` is the element of a plot that Plotly has drawn. */
    constructor(plot) {
      this.plot = plot;
      this.on = false;
      this.box = make("div", "bv-view-sheet", plot.querySelector(".gl-container"));
      this.canvas = make("canvas", "", this.box);
      this._pen = this.canvas.getContext("2d");
      this._scale = null;
      this._style = "";
    }

    /** Show the cells of a Plotly heat map {z, x0, dx, y0, dy, zmin, zmax, colorscale}; what is null or NaN stays empty. */
    paint(map) {
      const { z, zmin, zmax } = map;
      const rows = z.length;
      const columns = rows ? z[0].length : 0;
      if (!rows || !columns) return;
      const key = JSON.stringify(map.colorscale);
      if (key !== this._scale) {
        this._scale = key;
        this._shades = shades(map.colorscale);
      }
      if (!this._image || this._image.width !== columns || this._image.height !== rows) {
        this.canvas.width = columns;
        this.canvas.height = rows;
        this._image = this._pen.createImageData(columns, rows);
        this._pixels = new Uint32Array(this._image.data.buffer);
      }
      const [pixels, colors] = [this._pixels, this._shades];
      const per = SHADES / (zmax - zmin);
      for (let row = 0, i = 0; row < rows; row++) {
        const line = z[row];
        for (let column = 0; column < columns; column++, i++) {
          const value = line[column];
          if (value === null || value !== value) pixels[i] = 0;
          else pixels[i] = colors[Math.max(0, Math.min(SHADES - 1, Math.floor((value - zmin) * per)))];
        }
      }
      this._pen.putImageData(this._image, 0, 0);
      this._ends = [map.x0 - map.dx / 2, map.x0 + (columns - 0.5) * map.dx, map.y0 - map.dy / 2, map.y0 + (rows - 0.5) * map.dy];
      if (!this.on) {
        this.on = true;
        this.plot.classList.add("bv-is-behind");
      }
      this.place();
    }

    /** Put it where the axes have its cells now. */
    place() {
      const { xaxis, yaxis } = this.plot._fullLayout;
      if (!this.on || !xaxis) return;
      const [left, right, top, bottom] = [xaxis.l2p(this._ends[0]), xaxis.l2p(this._ends[1]), yaxis.l2p(this._ends[2]), yaxis.l2p(this._ends[3])];
      const style = [xaxis._offset, yaxis._offset, xaxis._length, yaxis._length, left, right, top, bottom].join();
      if (style === this._style) return;
      this._style = style;
      const [box, canvas] = [this.box.style, this.canvas.style];
      box.transform = `translate(${xaxis._offset}px, ${yaxis._offset}px)`;
      box.width = xaxis._length + "px";
      box.height = yaxis._length + "px";
      canvas.transform = `translate(${left}px, ${top}px)`;
      canvas.width = right - left + "px";
      canvas.height = bottom - top + "px";
    }

    /** Plotly shows the same by now. */
    hide() {
      if (!this.on) return;
      this.on = false;
      this.plot.classList.remove("bv-is-behind");
    }
  }

  BlockViz.Sheet = Sheet;
})();
