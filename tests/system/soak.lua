--  What wrk asks during a soak: reads of all kinds, and requests that are refused, by turns.

local turn = 0
local run, key

function init (args)
    run, key = args[1], args[2]
end

function request ()
    turn = turn + 1
    local auth = { ["Authorization"] = "Bearer " .. key }
    local pick = turn % 10
    if pick == 0 then return wrk.format ("GET", "/v1/capabilities", auth) end
    if pick == 1 then return wrk.format ("GET", "/v1/models", auth) end
    if pick == 2 then return wrk.format ("GET", "/v1/runs/run_00000000000000000000000000000000", auth) end
    if pick == 3 then return wrk.format ("POST", "/v1/chat/completions", auth, '{"messages":[]}') end
    if pick == 4 then return wrk.format ("GET", "/v1/runs?limit=5", auth) end
    if pick == 5 then return wrk.format ("GET", "/health", { ["Authorization"] = "Bearer wrong" }) end
    if pick == 6 then return wrk.format ("GET", "/openapi.json") end
    if pick == 7 then return wrk.format ("GET", "/metrics", auth) end
    return wrk.format ("GET", "/v1/runs/" .. run, auth)
end
