"""Writes small CommonRoad files (format 2020a) by hand, from the public schema."""


def point(x, y):
    return f"<point><x>{x}</x><y>{y}</y></point>"


def exact(tag, value):
    return f"<{tag}><exact>{value}</exact></{tag}>"


def state(tag, x, y, yaw, step, speed=None, position=None):
    place = position or point(x, y)
    more = exact("velocity", speed) if speed is not None else ""
    return f"<{tag}><position>{place}</position>{exact('orientation', yaw)}{exact('time', step)}{more}</{tag}>"


def rectangle(length=4.5, width=1.8, extra=""):
    return f"<shape><rectangle><length>{length}</length><width>{width}</width>{extra}</rectangle></shape>"


def moving(i, states, kind="car", shape=None, follow=None):
    """A dynamic obstacle; `states` are (x, y, yaw, speed) from step 0 on."""
    first, *rest = states
    start = state("initialState", *first[:3], 0, first[3])
    way = "".join(state("state", *s[:3], k, s[3]) for k, s in enumerate(rest, 1))
    body = shape or rectangle()
    track = follow if follow is not None else f"<trajectory>{way}</trajectory>"
    return f'<dynamicObstacle id="{i}"><type>{kind}</type>{body}{start}{track}</dynamicObstacle>'


def standing(i, x, y, kind="parkedVehicle", yaw=0.0, shape=None):
    return f'<staticObstacle id="{i}"><type>{kind}</type>{shape or rectangle()}{state("initialState", x, y, yaw, 0)}</staticObstacle>'


def lanelet(i, y0, y1, types=("urban",), extra="", marking="dashed", x=(0, 50, 100)):
    left = "".join(point(a, y1) for a in x)
    right = "".join(point(a, y0) for a in x)
    kinds = "".join(f"<laneletType>{t}</laneletType>" for t in types)
    before, after = extra if isinstance(extra, tuple) else ("", extra)
    return (
        f'<lanelet id="{i}"><leftBound>{left}<lineMarking>{marking}</lineMarking></leftBound><rightBound>{right}</rightBound>'
        f"{before}{kinds}<userOneWay>vehicle</userOneWay>{after}</lanelet>"
    )


def problem(i, x, y, yaw, speed):
    start = state("initialState", x, y, yaw, 0, speed).replace("</initialState>", exact("yawRate", 0.0) + "</initialState>")
    goal = "<goalState><time><intervalStart>1</intervalStart><intervalEnd>9</intervalEnd></time></goalState>"
    return f'<planningProblem id="{i}">{start}{goal}</planningProblem>'


def scenario(*parts, benchmark="DEU_Made-1_1_T-1", step=0.1, version="2020a", head='<?xml version="1.0" encoding="UTF-8"?>', tags=""):
    return (
        f'{head}<commonRoad commonRoadVersion="{version}" benchmarkID="{benchmark}" date="2024-01-01" author="A" affiliation="B" '
        f'source="C" timeStepSize="{step}"><location><geoNameId>1</geoNameId><gpsLatitude>1</gpsLatitude><gpsLongitude>1</gpsLongitude>'
        f"</location><scenarioTags>{tags}</scenarioTags>{''.join(parts)}</commonRoad>"
    ).encode()


def solution(states, problem_id=7, benchmark="KS2:SM1:DEU_Made-1_1_T-1:2020a", kind="ks"):
    """States are (x, y, yaw, speed) from step 0 on; for kind "pm" the third and fourth are the velocity."""
    rows = []
    for k, (x, y, a, b) in enumerate(states):
        tail = (
            f"<xVelocity>{a}</xVelocity><yVelocity>{b}</yVelocity>"
            if kind == "pm"
            else f"<steeringAngle>0</steeringAngle><velocity>{b}</velocity><orientation>{a}</orientation>"
        )
        rows.append(f"<{kind}State><x>{x}</x><y>{y}</y>{tail}<time>{k}</time></{kind}State>")
    return (
        f'<?xml version="1.0" ?><CommonRoadSolution benchmark_id="{benchmark}"><{kind}Trajectory planningProblem="{problem_id}">'
        f"{''.join(rows)}</{kind}Trajectory></CommonRoadSolution>"
    ).encode()
