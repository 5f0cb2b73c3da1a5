-- Sends bodies in turn, with the mark replaced by the number of the request. Arguments: path, file of bodies (one per line),
-- file of keys (one per line). Needs one thread, so that numbers are unique.
local MARK = '@@@@@@@@@@'
local heads, pieces, keys = {}, {}, {}
local bodies, sent = 0, 0

local function split(text)
  local parts, from = {}, 1
  while true do
    local at = text:find(MARK, from, true)
    if not at then
      parts[#parts + 1] = text:sub(from)
      return parts
    end
    parts[#parts + 1] = text:sub(from, at - 1)
    from = at + #MARK
  end
end

function init(args)
  local path = args[1]
  for key in io.lines(args[3]) do keys[#keys + 1] = key end
  for body in io.lines(args[2]) do
    bodies = bodies + 1
    pieces[bodies] = split(body)
    heads[bodies] = 'POST ' .. path .. ' HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: '
      .. #body .. '\r\nx-api-key: '
  end
end

function request()
  local body = pieces[sent % bodies + 1]
  local head = heads[sent % bodies + 1] .. keys[sent % #keys + 1] .. '\r\n\r\n'
  local number = string.format('%010d', sent)
  sent = sent + 1
  return head .. table.concat(body, number)
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format('RESULT %d %d %d %d %d %d %d %d %d\n', summary.requests, summary.duration,
    latency:percentile(50), latency:percentile(99), errors.connect, errors.read, errors.write, errors.status, errors.timeout))
end
