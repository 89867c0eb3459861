"use strict";
(function () {
  var nodes = function () { return document.querySelectorAll(".tree details"); };
  var setAll = function (open) { nodes().forEach(function (node) { node.open = open; }); };
  var bar = document.getElementById("tree-tools");
  if (bar) {
    [["Unfold all", true], ["Fold all", false]].forEach(function (pair) {
      var button = document.createElement("button");
      button.type = "button";
      button.textContent = pair[0];
      button.addEventListener("click", function () { setAll(pair[1]); });
      bar.appendChild(button);
    });
  }
  var reveal = function (id) {
    var node = document.getElementById(id);
    if (!node) { return; }
    for (var one = node; one; one = one.parentElement) {
      if (one.tagName === "DETAILS" && one !== node.querySelector("details")) { one.open = true; }
    }
    var row = node.querySelector("[data-row]");
    node.scrollIntoView({ block: "center" });
    if (row) { row.focus({ preventScroll: true }); }
  };
  document.querySelectorAll(".map a").forEach(function (cell) {
    cell.addEventListener("click", function (event) {
      event.preventDefault();
      reveal(cell.getAttribute("href").slice(1));
    });
  });
  window.addEventListener("beforeprint", function () {
    document.querySelectorAll(".tree details, details[data-print]").forEach(function (one) {
      one.open = true;
    });
  });
}());
