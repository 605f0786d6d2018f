#pragma once
#include "backends/metal/kernels/common.h"

// A tile of C, one slice of K, one product of the batch.
struct TilePlace {
  Index tile_m, tile_n, batch, slice;
  Index first_k, end_k;
};

// Tiles are walked in bands, so that those under way at once share rows of A and columns of B.
inline TilePlace place_of(Index unit, constant GemmParams& p) {
  TilePlace place;
  const Index tiles = p.tiles_m * p.tiles_n;
  const Index product = unit / tiles, tile = unit - product * tiles;
  place.slice = product / p.batch;
  place.batch = product - place.slice * p.batch;
  const bool is_column_major = p.is_column_major != 0;
  const Index across = is_column_major ? p.tiles_n : p.tiles_m;
  const Index along = is_column_major ? p.tiles_m : p.tiles_n;
  const Index band = tile / (Index(p.band) * along);
  const Index first = band * Index(p.band);
  const Index width = min(Index(p.band), across - first);
  const Index within = tile - first * along;
  const Index i = first + within % width, j = within / width;
  place.tile_m = is_column_major ? j : i;
  place.tile_n = is_column_major ? i : j;
  place.first_k = place.slice * p.slice;
  place.end_k = min(place.first_k + p.slice, p.k);
  return place;
}
