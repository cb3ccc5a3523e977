"""run_seeds.py OUT PARALLEL SEED... : schedules of these seeds, with what lies in hanging partitions."""
import os, sys, struct, time
sys.path.insert(0, "/tmp/w/src"); sys.path.insert(0, "/tmp/w"); sys.path.insert(0, "/tmp/w/bench")
os.environ["PYTHONPATH"] = "/tmp/w/src"
import faults
from tests.faults.harness import hanging as H, segments as S
from tests.faults.harness.sides import Millstream
import tests.faults.harness.scene as scene_module
HEAD = S._HEADER
def dump(broker, found):
    data = broker.directory / "data"
    for one in found:
        lines = [f"HANGING {one}"]
        for file in sorted((data / f"{one.topic}-{one.partition}").glob("*.log")):
            content, at = file.read_bytes(), 0
            while at + HEAD.size <= len(content):
                first, length, _, _, _, attributes, last, t1, t2, producer, epoch, seq, count = HEAD.unpack_from(content, at)
                end = at + 12 + length
                if length <= 0: break
                if producer == one.producer or abs(first - one.offset) < 200:
                    kind = ""
                    if attributes & 0x20:
                        r = S.Reader(content[at+HEAD.size:end]); r.varint(); r.take(1); r.varint(); r.varint(); key = r.take(r.varint())
                        kind = {0: "ABORT", 1: "COMMIT"}.get(int.from_bytes(key[2:4], "big"))
                    lines.append(f"  {first}-{first+last} p{producer} e{epoch} s{seq} n{count} {time.strftime('%H:%M:%S', time.gmtime(t2/1000))} {kind}")
                at = end
        for directory in data.glob("__transaction_state-*"):
            for batch in S.batches(data, "__transaction_state", int(directory.name.rsplit("-", 1)[1])):
                if not batch.is_marker:
                    for key, value in batch.records():
                        if value:
                            r = S.Reader(value); v = r.number(2); p = r.number(8)
                            if p == one.producer:
                                e = r.number(2); to = r.number(4); st = r.number(1); parts = list(H._partitions(r)); 
                                upd = r.number(8); 
                                lines.append(f"  state p{p} e{e} {st} {sorted(parts)} {upd/1000:.3f}")
        text = "\n".join(lines)
        name = f"/tmp/hang-{one.topic}-{one.partition}-{one.offset}.txt"
        if not os.path.exists(name):
            open(name, "w").write(text)
original = H.hanging
def wrapped(broker, prefix):
    found = original(broker, prefix)
    if found:
        try: dump(broker, found)
        except Exception as e: print("dump failed", e, flush=True)
    return found
H.hanging = wrapped
for module in list(sys.modules.values()):
    if getattr(module, "hanging", None) is original: module.hanging = wrapped
def hear(outcome):
    print(time.strftime("%H:%M:%S"), outcome, flush=True)
    with open(sys.argv[1], "a") as f: f.write(f"{outcome.schedule.seed} {outcome.verdict} {outcome.seconds:.0f} {outcome.is_well}\n")
faults.run_all([int(s) for s in sys.argv[3:]], Millstream(), None, None, int(sys.argv[2]), hear)
