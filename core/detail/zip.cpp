#include "detail/zip.hpp"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <limits>
#include <tapeform/core/error.hpp>

namespace tapeform::io::detail {
namespace {

constexpr std::uint32_t local_mark = 0x04034b50, member_mark = 0x02014b50, end_mark = 0x06054b50, end64_mark = 0x06064b50,
                        locator_mark = 0x07064b50;
constexpr std::uint64_t local_bytes = 30, member_bytes = 46, end_bytes = 22, end64_bytes = 56, locator_bytes = 20;
constexpr std::uint32_t over_32_bits = 0xFFFF'FFFF;
constexpr std::uint64_t most_expansion = 1032;           // of deflate: its codes for 258 bytes take two bits
constexpr std::size_t zlib_part = std::size_t{1} << 30;  // zlib counts in 32 bits

std::uint64_t number(Bytes bytes, std::size_t at, std::size_t width) {
  std::uint64_t n = 0;
  for (std::size_t i = 0; i < width; ++i) n |= std::uint64_t{std::to_integer<unsigned>(bytes[at + i])} << (8 * i);
  return n;
}

void append(std::string& to, std::uint64_t n, int width) {
  for (int i = 0; i < width; ++i) to += static_cast<char>(n >> (8 * i) & 255);
}

std::string text(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

/// Puts sizes over 32 bits in place of the marks that stand for them.
void read_wide(const Where& where, Bytes extra, ZipReader::Member& member) {
  std::uint64_t* const in_order[] = {&member.size, &member.packed, &member.begin};
  for (std::size_t at = 0; at + 4 <= extra.size();) {
    const std::uint64_t id = number(extra, at, 2), length = number(extra, at + 2, 2);
    at += 4;
    if (length > extra.size() - at) return;  // other programs' fields may be anything
    if (id == 1) {
      std::size_t next = at;
      for (std::uint64_t* const value : in_order) {
        if (*value != over_32_bits) continue;
        if (next + 8 > at + length) where.fail("a size over 32 bits must be in the member's own field", "none");
        *value = number(extra, next, 8);
        next += 8;
      }
    }
    at += length;
  }
}

std::vector<std::byte> inflated(const Where& where, Bytes packed, std::uint64_t size) {
  std::vector<std::byte> out(size);
  z_stream stream = {};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) throw MemoryError("read_npz: no room to inflate");
  std::byte nowhere{};
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(packed.data()));
  stream.next_out = reinterpret_cast<Bytef*>(out.empty() ? &nowhere : out.data());
  std::uint64_t in_left = packed.size(), out_left = size;
  int status = Z_OK;
  while (status == Z_OK) {
    const auto in = static_cast<uInt>(std::min<std::uint64_t>(in_left, zlib_part));
    const auto room = static_cast<uInt>(std::min<std::uint64_t>(out_left, zlib_part));
    stream.avail_in = in;
    stream.avail_out = room;
    status = inflate(&stream, Z_NO_FLUSH);
    in_left -= in - stream.avail_in;
    out_left -= room - stream.avail_out;
  }
  inflateEnd(&stream);
  if (status != Z_STREAM_END || in_left != 0 || out_left != 0)
    where.fail(fmt::format("the member must inflate to {} bytes", size), "others");
  return out;
}

std::string deflated(const std::vector<Bytes>& pieces) {
  z_stream stream = {};
  constexpr int memory_level = 8;
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, -MAX_WBITS, memory_level, Z_DEFAULT_STRATEGY) != Z_OK)
    throw MemoryError("write_npz: no room to deflate");
  std::string out;
  std::vector<char> part(std::size_t{1} << 16);
  const auto run = [&](Bytes in, int flush) {
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(in.data()));
    stream.avail_in = static_cast<uInt>(in.size());
    do {
      stream.next_out = reinterpret_cast<Bytef*>(part.data());
      stream.avail_out = static_cast<uInt>(part.size());
      deflate(&stream, flush);
      out.append(part.data(), part.size() - stream.avail_out);
    } while (stream.avail_out == 0);
  };
  for (Bytes piece : pieces)
    for (; !piece.empty(); piece = piece.subspan(std::min(piece.size(), zlib_part)))
      run(piece.first(std::min(piece.size(), zlib_part)), Z_NO_FLUSH);
  run({}, Z_FINISH);
  deflateEnd(&stream);
  return out;
}

std::uint32_t checksum_of(std::uint32_t before, Bytes bytes) {
  return static_cast<std::uint32_t>(crc32_z(before, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

}  // namespace

ZipReader::ZipReader(const Where& where) : where_(where), file_(where) { read_directory(find_directory()); }

std::vector<std::byte> ZipReader::bytes(std::uint64_t from, std::uint64_t n) const {
  std::vector<std::byte> read(n);
  file_.read(where_, read.data(), n, from);
  return read;
}

ZipReader::Directory ZipReader::find_directory() const {
  // The archive's end is marked, with a comment of up to 64 KiB behind the mark.
  const std::uint64_t size = file_.size(), tail = std::min<std::uint64_t>(size, end_bytes + 0xFFFF);
  const std::vector<std::byte> last = bytes(size - tail, tail);
  std::uint64_t at = tail < end_bytes ? 0 : tail - end_bytes + 1;
  const auto is_end = [&](std::uint64_t i) { return number(last, i, 4) == end_mark && number(last, i + 20, 2) == tail - i - end_bytes; };
  while (at > 0 && !is_end(at - 1)) --at;
  if (at-- == 0) where_.fail("a zip archive ends with its directory", "none");
  Directory directory{number(last, at + 10, 2), number(last, at + 16, 4), number(last, at + 12, 4)};
  const std::uint64_t end = size - tail + at;
  std::uint64_t room = end;  // what may stand before
  if (directory.members == 0xFFFF || directory.begin == over_32_bits || directory.bytes == over_32_bits) {
    if (end < locator_bytes) where_.fail("a directory over 32 bits has a second one", "none");
    const std::vector<std::byte> locator = bytes(end - locator_bytes, locator_bytes);
    const std::uint64_t end64 = number(locator, 8, 8);
    if (number(locator, 0, 4) != locator_mark || end64 > end - locator_bytes || end - locator_bytes - end64 < end64_bytes)
      where_.fail("a directory over 32 bits has a second one", "none");
    const std::vector<std::byte> wide = bytes(end64, end64_bytes);
    if (number(wide, 0, 4) != end64_mark) where_.fail("a directory over 32 bits has a second one", "none");
    directory = {number(wide, 32, 8), number(wide, 48, 8), number(wide, 40, 8)};
    room = end64;
  }
  if (directory.begin > room || directory.bytes > room - directory.begin)
    where_.fail(fmt::format("the directory must lie in the {} bytes before its mark", room),
                fmt::format("{} bytes from {}", directory.bytes, directory.begin));
  return directory;
}

void ZipReader::read_directory(const Directory& directory) {
  const std::vector<std::byte> all = bytes(directory.begin, directory.bytes);
  Bytes rest = all;
  std::uint64_t packed = 0;
  while (!rest.empty()) {
    if (rest.size() < member_bytes || number(rest, 0, 4) != member_mark)
      where_.fail("the directory must be a list of members", "something else");
    const std::uint64_t flags = number(rest, 8, 2), method = number(rest, 10, 2);
    const std::uint64_t name_bytes = number(rest, 28, 2), extra_bytes = number(rest, 30, 2), comment_bytes = number(rest, 32, 2);
    if (rest.size() - member_bytes < name_bytes + extra_bytes + comment_bytes)
      where_.fail("the directory must be a list of members", "a part of one");
    Member member{.name = text(rest.subspan(member_bytes, name_bytes)),
                  .deflated = method == 8,
                  .checksum = static_cast<std::uint32_t>(number(rest, 16, 4)),
                  .packed = number(rest, 20, 4),
                  .size = number(rest, 24, 4),
                  .begin = number(rest, 42, 4)};
    const Where inside = where_.at(&member.name);
    read_wide(inside, rest.subspan(member_bytes + name_bytes, extra_bytes), member);
    if ((flags & 1) != 0) inside.fail("members must be readable", "an encrypted one");
    if (method != 0 && method != 8) inside.fail("members must be stored or deflated", fmt::format("method {}", method));
    if (member.packed > directory.begin || (packed += member.packed) > directory.begin)
      inside.fail(fmt::format("all members must fit in the {} bytes before the directory", directory.begin),
                  fmt::format("{} bytes", member.packed));
    if (member.deflated ? member.size / most_expansion > member.packed : member.size != member.packed)
      inside.fail(fmt::format("the size must be what {} bytes can hold", member.packed), fmt::format("{} bytes", member.size));
    if (member.begin > directory.begin || directory.begin - member.begin < local_bytes)
      inside.fail(fmt::format("a member must lie in the {} bytes before the directory", directory.begin),
                  fmt::format("one at {}", member.begin));
    members_.push_back(std::move(member));
    rest = rest.subspan(member_bytes + name_bytes + extra_bytes + comment_bytes);
  }
  if (members_.size() != directory.members)
    where_.fail(fmt::format("the directory must list {} members", directory.members), std::to_string(members_.size()));
}

std::vector<std::byte> ZipReader::read(const Member& member) const {
  const Where inside = where_.at(&member.name);
  const std::vector<std::byte> local = bytes(member.begin, local_bytes);
  if (number(local, 0, 4) != local_mark) inside.fail("a member begins with a header of its own", "something else");
  const std::uint64_t begin = member.begin + local_bytes + number(local, 26, 2) + number(local, 28, 2);
  if (begin > file_.size() || member.packed > file_.size() - begin)
    inside.fail(fmt::format("a member must lie in the {} bytes of the file", file_.size()),
                fmt::format("{} bytes from {}", member.packed, begin));
  std::vector<std::byte> whole = bytes(begin, member.packed);
  if (member.deflated) whole = inflated(inside, whole, member.size);
  if (const std::uint32_t checksum = checksum_of(0, whole); checksum != member.checksum)
    inside.fail(fmt::format("the checksum must be {:08x}", member.checksum), fmt::format("{:08x}", checksum));
  return whole;
}

void ZipWriter::write(const std::string& bytes) {
  to_.write(std::as_bytes(std::span(bytes)));
  at_ += bytes.size();
}

void ZipWriter::add(const std::string& name, const std::vector<Bytes>& pieces) {
  std::uint64_t size = 0;
  std::uint32_t checksum = 0;
  for (const Bytes piece : pieces) {
    size += piece.size();
    checksum = checksum_of(checksum, piece);
  }
  const std::string packed = compressed_ ? deflated(pieces) : std::string();
  const std::uint64_t packed_bytes = compressed_ ? packed.size() : size, begin = at_;
  const bool ascii = std::ranges::all_of(name, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  std::string common;                    // what both headers of a member hold
  append(common, 45, 2);                 // the version that knows 64 bits
  append(common, ascii ? 0 : 0x800, 2);  // names in UTF-8
  append(common, compressed_ ? 8 : 0, 2);
  append(common, 0, 2);
  append(common, 0x21, 2);  // the first day that the format knows: the same bytes every time
  append(common, checksum, 4);
  append(common, over_32_bits, 4);
  append(common, over_32_bits, 4);
  append(common, name.size(), 2);

  std::string local;
  append(local, local_mark, 4);
  local += common;
  append(local, 20, 2);
  local += name;
  append(local, 1, 2);
  append(local, 16, 2);
  append(local, size, 8);
  append(local, packed_bytes, 8);
  write(local);
  if (compressed_) {
    write(packed);
  } else {
    for (const Bytes piece : pieces) to_.write(piece);
    at_ += size;
  }

  append(directory_, member_mark, 4);
  append(directory_, 45 | 3 << 8, 2);  // written on a Unix
  directory_ += common;
  append(directory_, 28, 2);
  append(directory_, 0, 2 + 2 + 2);
  append(directory_, std::uint64_t{0600} << 16, 4);
  append(directory_, over_32_bits, 4);
  directory_ += name;
  append(directory_, 1, 2);
  append(directory_, 24, 2);
  append(directory_, size, 8);
  append(directory_, packed_bytes, 8);
  append(directory_, begin, 8);
  ++members_;
}

void ZipWriter::finish() {
  const std::uint64_t begin = at_, end64 = begin + directory_.size();
  std::string end;
  append(end, end64_mark, 4);
  append(end, end64_bytes - 12, 8);
  append(end, 45 | 3 << 8, 2);
  append(end, 45, 2);
  append(end, 0, 4 + 4);
  append(end, members_, 8);
  append(end, members_, 8);
  append(end, directory_.size(), 8);
  append(end, begin, 8);
  append(end, locator_mark, 4);
  append(end, 0, 4);
  append(end, end64, 8);
  append(end, 1, 4);
  append(end, end_mark, 4);
  append(end, 0, 2 + 2);
  append(end, 0xFFFF, 2);
  append(end, 0xFFFF, 2);
  append(end, over_32_bits, 4);
  append(end, over_32_bits, 4);
  append(end, 0, 2);
  write(directory_);
  write(end);
}

}  // namespace tapeform::io::detail
